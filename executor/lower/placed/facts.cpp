#include "executor/lower/placed/facts.h"

#include <algorithm>

#include "executor/schedule/families.h"

namespace podium::lower {
namespace {

bool is_two_way(PipelineOrder order) {
  return order != PipelineOrder::Listed && schedule::family_of(order).shape == schedule::Shape::TwoWay;
}

void count_runs(const Strategy& strategy, Facts& facts) {
  const int micro_batches = facts.trains ? strategy.accumulation_factor : 1;  // of one update
  if (facts.in_phases) {
    facts.slices_in_phase = micro_batches * facts.slices;
    facts.cycles = facts.trains ? 1 : strategy.batches_per_step;
  } else {
    facts.cycles = micro_batches * facts.slices;
    if (!facts.trains || facts.updates_in_stages) facts.cycles *= strategy.batches_per_step;
  }
  if (facts.trains && !facts.updates_in_stages) facts.batches = strategy.batches_per_step;
}

}  // namespace

Facts find_facts(const PlacedGraph& placed, const Strategy& strategy) {
  Facts facts;
  facts.in_phases =
      strategy.virtual_graph_mode == VirtualGraphMode::ExecutionPhases && placed.placement.phases > 1;
  facts.in_stages = strategy.pipelining && !facts.in_phases;
  facts.accumulates = strategy.accumulation_factor > 1;
  facts.trains = !placed.training.variables.empty();
  facts.slices = std::max(1, strategy.batch_serialization.factor);
  const bool is_listed = strategy.pipeline_order != PipelineOrder::Lockstep;
  const bool runs_empty = facts.accumulates || (facts.trains && (facts.slices > 1 || is_listed));
  facts.updates_in_stages = facts.in_stages && !runs_empty;
  count_runs(strategy, facts);
  facts.in_orders = facts.in_stages && is_listed;
  if (facts.in_orders && is_two_way(strategy.pipeline_order)) facts.copies = 2;
  if (facts.in_stages) facts.stages = merge_stages(placed);
  return facts;
}

}  // namespace podium::lower
