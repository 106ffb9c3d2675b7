// Decides where the ops of a model run: by its annotations, or by cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/options.h"
#include "importer/import.h"
#include "ir/placement.h"

namespace podium {

/// The default preset's numbers for placing by cost, but without an end to its processors.
device::Device endless_device();

/// Error when the annotations of a model, as imported, cannot be what the options ask for.
void check_annotations(const importer::Model& model, const Options& options);

/// Bytes that a processor which trains a weight needs for it.
struct TrainedWeight {
  std::int64_t held = 0;           ///< all the time: itself, its gradient, what the optimizer keeps of it
  std::int64_t while_updated = 0;  ///< on top of that
};
struct TrainingMemory {
  std::map<std::string, TrainedWeight> weights = {};  ///< by their names
  std::int64_t code_per_op = 0;  ///< bytes of a forward op's code and that of its derivatives
  /// What each forward op makes that waits for the backward pass: bytes of a slice of a micro-batch.
  std::vector<std::int64_t> stash_bytes = {};
};

/// `model` has been through the passes. In mode Auto its ops get the annotations of an automatic placement
/// over all the processors of `device`, or as many as the options say; its constants and ops need what
/// `training` says. Error for a model that cannot be cut.
ir::Placement place_model(importer::Model& model, const Options& options, const device::Device& device,
                          const TrainingMemory& training = {});

}  // namespace podium
