// Moves inputs and outputs between the host and the processors, for every strategy that works in cycles: just
// in time, or beside the computation of the micro-batches before and after (semantics, section 9).
#pragma once

#include <map>
#include <vector>

#include "executor/lower/draft/cycle.h"
#include "executor/lower/draft/draft.h"

namespace podium::lower {

/// Whether an output of the graph crosses the IO tiles as soon as it is made.
bool leaves_at_once(const Draft& draft, ir::ValueId output);

/// What moves beside the computation, and how it comes from the IO tiles before and goes to them behind.
struct Beside {
  std::vector<TimedStep> tiles_in = {};
  std::vector<TimedStep> steps = {};
  std::vector<TimedStep> tiles_out = {};
};

/// A run whose batches have one cycle each has one loop, so OverlapInnerLoop and OverlapLoops are the same.
/// With synthetic data nothing crosses: inputs are made on their processors once, before the first
/// micro-batch, and outputs stay where they are (the Program has neither inputs nor outputs).
class HostIo {
 public:
  explicit HostIo(Draft& draft);

  /// The cycle in which a micro-batch's computation begins: 1 when an input comes a cycle ahead, else 0.
  int first_cycle() const { return first_cycle_; }
  /// Brings an input of the model to a processor that computes with it in cycle `offset`. Steps that must
  /// come just before its first use are added to `steps`.
  void load(ir::ValueId value, int processor, int offset, std::vector<TimedStep>& steps);
  /// Takes a value, made in cycle `offset`, to every output of the model that it is.
  void store(ir::ValueId value, int processor, int offset, std::vector<TimedStep>& steps);
  /// The same at once, for what is not made in a cycle.
  void store(ir::ValueId value, int processor, std::vector<executor::Step>& steps);
  /// Brings an input to a processor once, before the first micro-batch; to more of them by copies.
  void load_once(ir::ValueId value, int processor);
  /// The steps of the Program: what happens once, the cycles of all micro-batches, what happens once at the
  /// end. In a Program that trains, after the cycles of each batch comes `update`.
  std::vector<executor::Step> run(Cycle cycle, std::vector<executor::Step> update = {});
  /// What has to come beside the computation since the last call, for who has no cycles: steps of offset -1
  /// are for the micro-batch after the one that computes, of +1 for the one before it.
  Beside take_beside();
  /// The same as run with the steps of all micro-batches.
  std::vector<executor::Step> run(std::vector<executor::Step> steps, std::vector<executor::Step> update);

 private:
  std::map<ir::ValueId, int> loaded_once_;  ///< the processor that the host gave it to
  void make_synthetic(ir::ValueId value, int processor);
  void store_sums(std::vector<executor::Step>& steps);
  executor::Step add_up(ir::ValueId value, int processor);
  /// The steps with what happens once before and after them.
  std::vector<executor::Step> between_once(std::vector<executor::Step> steps);

  Draft& draft_;
  int first_cycle_ = 0;
  std::vector<executor::Step> before_;
  // The order inside a cycle: the IO tiles give and take only before and after what the IO lane does beside
  // the computation, so one buffer on the IO tiles is enough.
  Beside beside_;
  /// What adds up over micro-batches, and the block that does it.
  struct Sum {
    ir::ValueId value;
    executor::BufferId buffer;
    executor::BlockId add;
  };
  std::vector<Sum> sums_;
};

}  // namespace podium::lower
