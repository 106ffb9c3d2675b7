// The simulated time of a run, also of a model whose sizes only data decides.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/timeline.h"
#include "executor/strategy.h"
#include "ir/datum.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium {

/// What a strategy says of costs beside the device.
sim::CostOptions cost_options(const Strategy& strategy);

struct Clock {
  device::Device device;
  Strategy strategy;
  bool events = false;

  /// Error when the Program has a size that only a run tells.
  sim::Timeline run(const executor::Program& program) const;
};

/// What only a run tells.
struct Undecided {
  std::string what;        ///< "the size of 'n', int64[1,?]"
  std::string input = {};  ///< the graph's input that decides it, where it is one alone
};

/// The first tensor of the graph whose size, loop whose number of trips, or branch of an If, only a run
/// tells: "the size of 'n', int64[1,?]". Of an If whose branches both have known sizes the clock takes the
/// dearer one. Nothing when there is none.
std::optional<Undecided> undecided(const ir::Graph& graph);

/// A Program with what it took.
struct Clocked {
  sim::Timeline timeline;
  executor::Program program;
};

/// For such a graph: runs it once more, op by op, on the first micro-batch to learn the sizes.
struct LateClock {
  Clock clock;
  ir::Training training;  ///< without variables for inference
  ir::Placement placement;

  /// `inputs`, in the order of the graph's, are those of the session's run and what its variables hold. Error
  /// for what the clock does not know even then.
  Clocked run(std::span<const ir::Datum> inputs) const;
};

}  // namespace podium
