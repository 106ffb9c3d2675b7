// The way from a model to what a session runs. Inference and training take the same steps, and what lies
// between two of them has a name:
//
//   model -- check --> CheckedOptions -- make and place the graph --> Placed -- compile --> Compiled
//
// CheckedOptions say what was asked for, as it takes effect. A Placed is a graph with the place of every op;
// for inference it is a graph that trains without updates. A Compiled is its Program, clocked, and in an
// engine where it can run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "annotate/partition.h"
#include "executor/numeric/engine.h"
#include "executor/schedule/bounds.h"
#include "executor/session/check_options.h"
#include "executor/session/clock.h"
#include "executor/session/packed_files.h"
#include "executor/session/read_options.h"
#include "executor/session/session.h"
#include "executor/session/variable_store.h"
#include "executor/session/watched.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium {

/// The options of a session that has been asked for, with what is derived from them.
struct CheckedOptions {
  device::Device device;
  Strategy strategy;  ///< as it takes effect
  Notes notes = {};
  bool clocks = false;
  bool estimates = false;  ///< clocks, and runs nothing
  bool events = false;     ///< clocks with the events of the timeline
  bool bounds = true;      ///< finds bounds of pipelines
  bool watches = false;
  numeric::PrepareOptions prepare = {};
  std::shared_ptr<PackedFiles> packed = {};  ///< also of `prepare`; absent: no cache
};

/// Error for options that are illegal or that the model's annotations do not fit, and for a weight without
/// data that would have to run.
CheckedOptions check(const importer::Model& model, const SessionOptions& options, Task task);

/// The weights that not all replicas share.
struct GroupedWeights {
  GroupsByName groups = {};
  TensorsByName values = {};  ///< of all groups; of their optimizer state, too
};
/// Leaves `model` the values of the first group of each.
GroupedWeights take_grouped_weights(importer::Model& model, int replicas);

/// As optimize of a model; what the training says of values follows them.
void optimize(ir::Training& forward);

/// Rewrites ops of an optimized graph as their annotations and the options ask.
void follow_annotations(ir::Training& forward, const Strategy& strategy);
/// Of a graph that is not trained: operands in 8 bits for the products that annotations or the strategy ask
/// for (ir/passes/round_operands.h).
void narrow_operands(ir::Training& forward, const Strategy& strategy);
/// What the strategy asks for of the products of a graph that is yet to be differentiated.
void ask_for_operands(ir::Training& forward, const Strategy& strategy);

/// A graph to which no op is added any more, so that its placement stays true.
struct Placed {
  ir::Training training;
  ir::Placement placement;
  std::vector<annotate::CutVariable> cut = {};  ///< variables that are in parts over devices
  std::vector<annotate::Resharding> reshardings = {};
  std::optional<Watched> watched = {};
};

struct Compiled {
  std::vector<NamedVariable> variables = {};
  VariableStore store = {};
  executor::Program lowered = {};                ///< while there is no engine
  std::unique_ptr<numeric::Engine> engine = {};  ///< where it can run
  std::optional<sim::Timeline> timeline = {};
  std::optional<schedule::Bound> bound = {};  ///< of a clocked pipeline that runs empty before each update
  std::optional<LateClock> late_clock = {};   ///< where data decides sizes
  std::vector<annotate::Resharding> reshardings = {};  ///< of tensors that are cut over devices

  /// With events: the engine's Program with the graphs of its blocks, which the engine keeps to itself, but
  /// without their numbers.
  std::optional<executor::Program> described = {};
  /// The same of what a late clock has clocked.
  std::optional<executor::Program> clocked_late = {};

  const executor::Program& program() const {
    if (described) return *described;
    return engine ? engine->program() : lowered;
  }
  /// The engine. Error where there is none: nothing holds weights then.
  numeric::Engine& running() const {
    if (engine) return *engine;
    throw Error("a session that only estimates, or does not fit, has no values of weights");
  }
};

/// Lowers, clocks and prepares. Error for a placement that the device has no room for, and for an estimate of
/// what only a run tells.
Compiled compile(Placed placed, const GroupedWeights& weights, CheckedOptions& checked);

/// What was lowered for one device, clocked on another. Needs a session that only estimates.
sim::Timeline clocked_elsewhere(const Compiled& compiled, const CheckedOptions& checked,
                                const device::Device& device);

/// What a session's first run makes of its late clock. `inputs` are those of LateClock::run.
void clock_late(Compiled& compiled, std::span<const ir::Datum> inputs, CheckedOptions& checked);

/// A run has its numbers also when nothing tells its time: then a note says why, but an estimate has nothing
/// else and is an Error.
void clock_run(std::optional<sim::Timeline>& timeline, const std::function<sim::Timeline()>& run,
               CheckedOptions& checked);

}  // namespace podium
