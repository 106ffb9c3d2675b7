// What session options must keep to, before a model is placed (semantics, sections 1.4, 2 and 9).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/session/read_options.h"
#include "executor/strategy.h"
#include "ir/graph.h"
#include "ir/optimizer.h"
#include "ir/placement.h"

namespace podium {

/// Why no model can run with these options: the options that contradict each other and what would resolve it.
/// Nothing when they go together; see kRules for the whole list.
std::optional<std::string> why_illegal(const Strategy& strategy);

/// The options contradict each other, whatever the model.
class IllegalOptions : public Error {
 public:
  using Error::Error;
};

/// What is asked for depends on sizes that only a run tells.
class DecidedByData : public Error {
 public:
  using Error::Error;
};

/// IllegalOptions for more processors or micro-batches than can be counted.
void check_counts(const Strategy& strategy);

enum class Task : std::uint8_t { Inference, Training };

/// The options as they take effect: what cannot have one is off, with a note. IllegalOptions; Error for more
/// than `device` has, and for what only training can do in another task.
Strategy check_options(Strategy strategy, const device::Device& device, Task task, Notes& notes);

/// Error when a location is given for a tensor that the model does not have.
void check_overrides(const Strategy& strategy, const ir::Graph& graph);

/// What to type where so many processors are needed: "--ipus 16 --device ipu-pod16". Empty where nobody knows
/// a machine that has them.
std::string flags_for_processors(const Strategy& strategy, std::int64_t needed, const device::Device& device);
/// The same at the end of a message: " (--ipus 16)", or nothing.
std::string advice_for_processors(const Strategy& strategy, std::int64_t needed,
                                  const device::Device& device);

/// Error for more processors than the device has, and for more IO tiles than a processor has.
void check_device(const Strategy& strategy, const device::Device& device);

/// Error when replicas of so many processors need more than there are.
void check_processors(const Strategy& strategy, std::int64_t of_replica, const device::Device& device);
/// Error when the placement needs more processors than there are.
void check_placement(const Strategy& strategy, const ir::Placement& placement, const device::Device& device);

/// Error when a stage of a pipeline, which without accumulation updates its weights before the gradients of
/// all are known, would have to wait for them. The optimizer has no globs.
void check_waits(const Strategy& strategy, const ir::Optimizer& optimizer);

}  // namespace podium
