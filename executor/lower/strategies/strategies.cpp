#include "executor/lower/strategies/strategies.h"

namespace podium::lower {

executor::Program run_strategy(const Lowering& lowering) {
  if (lowering.facts.in_phases) return phased(lowering);
  if (lowering.facts.in_orders) return scheduled(lowering);
  if (lowering.facts.in_stages) return pipelined(lowering);
  return sharded(lowering);
}

}  // namespace podium::lower
