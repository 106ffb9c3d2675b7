// Placement by cost for `podium annotate --auto`.
#pragma once

#include "executor/cli/annotate_options.h"
#include "executor/device/device.h"
#include "importer/import.h"

namespace podium::cli {

/// Annotates every op by what it costs on `device`, in place of what it said of processors, stages and
/// phases. Ops of one node stay together. Error for a model that cannot be cut into so many parts, and one
/// whose sizes nobody knows.
void place_automatically(importer::Model& model, const AnnotateOptions& options,
                         const device::Device& device);

}  // namespace podium::cli
