// What session options must keep to, before a model is placed (semantics, sections 1.4, 2 and 9).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/options.h"
#include "executor/session/read_options.h"
#include "ir/graph.h"
#include "ir/optimizer.h"
#include "ir/placement.h"

namespace podium {

/// Why no model can run with these options: the options that contradict each other and what would resolve it.
/// Nothing when they go together; see kRules for the whole list.
std::optional<std::string> why_illegal(const Options& options);

/// The options contradict each other, whatever the model.
class IllegalOptions : public Error {
 public:
  using Error::Error;
};

enum class Task : std::uint8_t { Inference, Training };

/// The options as they take effect: what cannot have one is off, with a note. IllegalOptions; Error for more
/// than `device` has, and for what only training can do in another task.
Options check_options(Options options, const device::Device& device, Task task, Notes& notes);

/// Error when a location is given for a tensor that the model does not have.
void check_overrides(const Options& options, const ir::Graph& graph);

/// Error when the placement needs more processors than there are, or a pipeline more micro-batches than a
/// step has.
void check_placement(const Options& options, const ir::Placement& placement, const device::Device& device);

/// Error when a stage of a pipeline, which without accumulation updates its weights before the gradients of
/// all are known, would have to wait for them. The optimizer has no globs.
void check_waits(const Options& options, const ir::Optimizer& optimizer);

}  // namespace podium
