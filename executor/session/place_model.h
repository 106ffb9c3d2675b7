// Decides where the ops of a model run: by its annotations, or by cost.
#pragma once

#include "executor/device/device.h"
#include "executor/options.h"
#include "importer/import.h"
#include "ir/placement.h"

namespace podium {

/// The default preset's numbers for placing by cost, but without an end to its processors.
device::Device endless_device();

/// Error when the annotations of a model, as imported, cannot be what the options ask for.
void check_annotations(const importer::Model& model, const Options& options);

/// `model` has been through the passes. In mode Auto its ops get the annotations of an automatic placement
/// over all the processors of `device`, or as many as the options say. Error for a model that cannot be cut.
ir::Placement place_model(importer::Model& model, const Options& options, const device::Device& device);

}  // namespace podium
