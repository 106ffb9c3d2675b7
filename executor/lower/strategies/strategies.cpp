#include "executor/lower/strategies/strategies.h"

#include "executor/lower/strategies/schedule.h"

namespace podium::lower {

int fewest_micro_batches(const ir::Placement& placement, const Strategy& strategy) {
  return cycles_of(schedule_of(strategy), merge_stages(placement).count());
}

executor::Program run_strategy(const Lowering& lowering) {
  if (lowering.facts.in_phases) return phased(lowering);
  if (lowering.facts.in_stages) return pipelined(lowering);
  return sharded(lowering);
}

}  // namespace podium::lower
