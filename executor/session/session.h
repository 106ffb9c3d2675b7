// The public way in: a model becomes a Program and runs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "annotate/partition.h"
#include "executor/device/device.h"
#include "executor/numeric/engine.h"
#include "executor/session/id_counts.h"
#include "executor/session/read_options.h"
#include "executor/session/variable_store.h"
#include "executor/sim/timeline.h"
#include "importer/import.h"

namespace podium {

struct Watched;

/// Options that nobody gave, so that the session may choose them (fill_in.h).
struct OpenOptions {
  bool mode = false;           ///< virtualGraphMode
  bool micro_batches = false;  ///< batchesPerStep and accumulationFactor
};

struct SessionOptions {
  std::uint64_t seed = 0;  ///< of random ops that have none of their own
  int threads = 0;         ///< 0: one a processor of the machine
  bool optimized = false;  ///< the model has been through optimize
  /// Rewrite blocks for speed. Without, every op keeps its own kernel, so that a graph gives the same bits
  /// however it is cut.
  bool fuse = true;
  Strategy strategy = {};
  OpenOptions open = {};
  /// Absent: as many processors as the placement needs, with memory without end.
  std::optional<device::Device> device = {};
  bool clock = false;     ///< simulate the run on the device
  bool events = false;    ///< with the events of the timeline
  bool estimate = false;  ///< clock only: the model may lack its weights, and nothing can be run
  bool bounds = true;     ///< of a clocked pipeline that trains: find the time below which no schedule gets
  /// Runs give what lies between the ops of the graph, too, as outputs behind the model's own (watched.h).
  bool watches = false;
  /// Called now and then during a run, on the thread that called it; what it throws ends the run. The session
  /// can run again; weights that train may then have gone through a part of an update.
  std::function<void()> while_running = {};
  /// As numeric::PrepareOptions::after_op.
  std::function<void(const ir::Graph&, const ir::Op&, double seconds)> after_op = {};
};

/// Infers types, folds constants and simplifies, as a session does first. Error names the node that does not
/// fit.
void optimize(importer::Model& model);

/// Runs a model forward, under a strategy on the processors of a device.
class InferenceSession {
 public:
  /// Checks the options and the model's annotations, infers types, folds constants, simplifies, places,
  /// lowers, clocks and prepares. Error for options that are illegal and for a model that cannot run.
  /// Where data decides sizes, the clock waits for the first run; an estimate is an Error then.
  /// A weight that only groups of replicas share (the model's metadata __comm_group_type and
  /// __comm_group_size) has an initializer with a leading axis of groups.
  InferenceSession(importer::Model model, const SessionOptions& options = {});
  ~InferenceSession();
  InferenceSession(InferenceSession&&) noexcept;

  const std::vector<executor::HostTensor>& inputs() const { return program().inputs; }
  const std::vector<executor::HostTensor>& outputs() const { return program().outputs; }
  /// The inputs that hold ids, for those who draw their data.
  const IdCounts& ids() const;

  /// `inputs` in the order of inputs(), each with the elements of all micro-batches that it gives in a run:
  /// [batches per step][replicas][micro-batch...], without the replicas where it is broadcast. Of one
  /// micro-batch also the shape must fit. Error for a wrong number, type or shape.
  /// The outputs, [batches, replicas, micro-batch...] without leading dimensions of one, stay valid until the
  /// next run.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);

  /// Other values of weights for the runs to come, by name. Only without Strategy::constant_weights; then
  /// weights are not folded into ops, so that runs may take longer. Error with it, for a name that is no
  /// weight, and for another type or shape.
  void set_weights(const TensorsByName& values);

  /// Without its blocks' graphs, once it can run.
  const executor::Program& program() const;
  /// What the timeline is of: the same, but with SessionOptions::events, where data decides sizes, what the
  /// first run has told of them. With its blocks' graphs then.
  const executor::Program& clocked_program() const;
  /// nullptr without SessionOptions::clock, before the first run where data decides sizes, and where no run
  /// tells them (a note says why).
  const sim::Timeline* timeline() const;
  /// The same Program on another device, of a session that only estimates.
  sim::Timeline clocked_on(const device::Device& device) const;
  /// The options as they take effect.
  const Strategy& strategy() const;
  /// What tensors that are cut over devices need of other devices.
  const std::vector<annotate::Resharding>& reshardings() const;
  /// Whether run can be called: not after an estimate, nor when the memory of a processor overflows.
  bool can_run() const;
  /// Strategy that have no effect, and what else a user should know.
  const Notes& notes() const;
  /// nullptr without SessionOptions::watches.
  const Watched* watched() const;
  /// The most bytes that a processor held at once in the last run, weights included.
  std::int64_t peak_bytes(int processor) const;
  /// Memory for values between ops, of all processors.
  numeric::ArenaBytes arena() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium
