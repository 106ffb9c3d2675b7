// Options that follow from others where nobody gave them.
#pragma once

#include "executor/session/check_options.h"
#include "executor/session/session.h"

namespace podium {

/// The strategy with what the session's options leave open (SessionOptions::open): several processors alone
/// are placed as the model's annotations say, else automatically; a pipeline alone takes four micro-batches a
/// stage. Of a device configuration, each group of its devices counts as a processor. A note says each.
Strategy filled_in(const SessionOptions& options, const importer::Model& model, const device::Device& device,
                   Task task, Notes& notes);

}  // namespace podium
