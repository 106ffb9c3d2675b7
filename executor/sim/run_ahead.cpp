// While the devices of a group meet in a collective, the host dispatches on: it waits for the device where
// processors or replicas exchange, where data come or go, and where a loop goes round, not at a collective
// inside a replica. So between two such points a block begins with a lead of the host,
//
//   lead = what the device has been busy - what the host has dispatched      since the host waited
//
// and lasts as long as its kernels, or as its dispatch less the lead. Program order is the order of both.
#include "executor/sim/run_ahead.h"

#include <algorithm>
#include <map>

#include "executor/slots.h"

namespace podium::sim {
namespace {

using executor::BlockId;
using executor::Program;
using executor::Step;

class Walk {
 public:
  Walk(const Program& program, const Costs& costs) : program_(program), costs_(costs) {
    runs_.resize(std::ssize(program.blocks), {});
  }

  void over(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        lead_.clear();
        over(repeat->body);
        lead_.clear();
      } else if (const auto* compute = std::get_if<executor::Compute>(&step.action)) {
        add(compute->block);
      } else if (const auto* collective = std::get_if<executor::GroupCollective>(&step.action)) {
        const double seconds = costs_.movement(step).seconds;
        for (const executor::Transfer& one : collective->transfers)
          lead_[program_[one.from.buffer].processor] += seconds;
      } else {
        executor::for_each_slot(
            step, [&](const executor::Slot& slot, bool) { lead_.erase(program_[slot.buffer].processor); });
      }
    }
  }

  /// Of the runs of a block; its own time where it never runs.
  double mean_seconds(BlockId id) const {
    const Runs& runs = runs_[id];
    return runs.count == 0 ? costs_.blocks[id].seconds : runs.seconds / runs.count;
  }

 private:
  struct Runs {
    double seconds = 0;
    double count = 0;
  };

  void add(BlockId id) {
    const BlockCost& cost = costs_.blocks[id];
    double& lead = lead_[program_[id].processor];
    const double seconds = std::max(cost.kernel_seconds, cost.dispatch_seconds - lead);
    lead += seconds - cost.dispatch_seconds;
    runs_[id].seconds += seconds;
    runs_[id].count += 1;
  }

  const Program& program_;
  const Costs& costs_;
  std::map<int, double> lead_;  ///< by processor; none: 0
  ir::IdMap<BlockId, Runs> runs_;
};

}  // namespace

void let_host_run_ahead(const Program& program, Costs& costs) {
  Walk walk(program, costs);
  walk.over(program.steps);
  for (BlockId id : program.block_ids()) {
    BlockCost& cost = costs.blocks[id];
    if (cost.dispatch_seconds <= cost.kernel_seconds) continue;
    const double share = walk.mean_seconds(id) / cost.seconds;
    cost.seconds *= share;
    for (double& early : cost.early_seconds) early *= share;
  }
}

}  // namespace podium::sim
