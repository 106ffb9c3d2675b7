// The passes of lowering in their order, with a line between them that says what holds from there on:
// rewrites of the placed graph, then a strategy, then rewrites of the Program. The blocks of a pipeline's
// passes alone come from the same rewritten graph.
#include "executor/lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "executor/lower/graph/accumulate_where_made.h"
#include "executor/lower/graph/add_second_copy.h"
#include "executor/lower/graph/delay_updates.h"
#include "executor/lower/graph/give_counts_an_op.h"
#include "executor/lower/graph/give_outputs_an_op.h"
#include "executor/lower/graph/give_updates_an_op.h"
#include "executor/lower/graph/give_variables_their_updates.h"
#include "executor/lower/graph/move_host_parts.h"
#include "executor/lower/graph/recompute.h"
#include "executor/lower/graph/reductions.h"
#include "executor/lower/graph/shard_variables.h"
#include "executor/lower/graph/stash_weights.h"
#include "executor/lower/graph/zeros.h"
#include "executor/lower/program/join_collectives.h"
#include "executor/lower/program/join_remote_transfers.h"
#include "executor/lower/program/plan_memory.h"
#include "executor/lower/program/share.h"
#include "executor/lower/program/split_collectives.h"
#include "executor/lower/program/split_tile_sets.h"
#include "executor/lower/program/stow_activations.h"
#include "executor/lower/program/stream_variables.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "executor/lower/strategies/strategies.h"
#include "ir/nearest.h"

namespace podium::lower {

void add_anchors(ir::Graph& graph, const Strategy& strategy) {
  if (strategy.anchors.empty()) return;
  std::map<std::string_view, ir::ValueId> by_name;
  const auto note = [&](ir::ValueId id) { by_name.emplace(graph[id].name, id); };
  for (ir::ValueId id : graph.outputs) note(id);
  for (ir::ValueId id : graph.inputs) note(id);
  for (const ir::Op& op : graph.ops) {
    for (ir::ValueId id : inputs_of(op)) note(id);
    for (ir::ValueId id : outputs_of(op)) note(id);
  }
  std::set<ir::ValueId> outputs(graph.outputs.begin(), graph.outputs.end());
  for (const auto& [name, anchor] : strategy.anchors) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, id] : by_name) names.push_back(known);
      throw Error("anchor '{}': the model has no tensor of this name, the nearest is '{}'", name,
                  ir::nearest(name, names));
    }
    if (outputs.insert(found->second).second) graph.outputs.push_back(found->second);
  }
}

namespace {

void note_tiles_that_are_missing(const PlacedGraph& placed, const Strategy& strategy, Warnings& warnings) {
  const int count = strategy.io_tiles > 0 ? 0 : count_on_io_tiles(placed.graph());
  if (count == 0) return;
  warnings.push_back(fmt::format("__tile_set IO of {} op{}: no effect, there are no IO tiles (numIOTiles)",
                                 count, count == 1 ? "" : "s"));
}

// What every strategy leaves to do.
void finish(executor::Program& program, const Strategy& strategy,
            const std::map<std::string, ir::TensorLocation>& variables,
            const std::map<std::string, ir::TensorLocation>& activations, Warnings& warnings) {
  split_collectives(program);
  // From here on replicas meet in steps, not inside blocks.
  stream_variables(program, variables);
  if (stow_activations(program, activations) == 0 && !activations.empty()) {
    warnings.push_back(fmt::format(
        "'{}'{} cannot wait off the compute tiles: no effect, no block reads what another one has left",
        activations.begin()->first,
        activations.size() > 1 ? fmt::format(" and {} more", activations.size() - 1) : ""));
  }
  // From here on each step finds what it reads where it reads it.
  if (strategy.io_tiles > 0) split_tile_sets(program);
  // From here on each block is on one set of tiles.
  if (strategy.merging.brings_together) join_collectives(program);
  if (strategy.joins_remote_transfers && strategy.exchanges == Exchanges::Together)
    join_remote_transfers(program, strategy.sync);
  if (strategy.outlining == Outlining::On) share_blocks(program);
  share_remote_buffers(program);
  // From here on no block, buffer or step is added or removed.
  plan_memory(program);
  verify(program);
}

void copy_as_asked(PlacedGraph& placed, const Strategy& strategy) {
  try {
    add_second_copy(placed);
  } catch (const Error& error) {
    throw error.at(fmt::format("pipeline schedule {}", schedule::family_of(strategy.pipeline_order).name));
  }
}

// Rewrites the graph, and gives what `use` makes of it. The same for a Program and for its blocks alone.
template <class Use>
auto rewritten(ir::Training training, const ir::Placement& placement, const Strategy& asked,
               Warnings* warnings, const UsePasses& use_passes, const Use& use) {
  PlacedGraph placed(std::move(training), placement);
  Strategy strategy = asked;
  Warnings unheard;
  Warnings& heard = warnings == nullptr ? unheard : *warnings;
  move_as_asked(placed, strategy);
  const Facts facts = find_facts(placed, strategy);

  note_tiles_that_are_missing(placed, strategy, heard);
  if (!facts.updates_in_stages) accumulate_where_made(placed, strategy.exchanges);
  give_updates_an_op(placed);
  give_counts_an_op(placed);
  give_variables_their_updates(placed, facts);
  give_outputs_an_op(placed);
  // From here on every output of the graph is made by an op, which is there for it alone where others read
  // what the output becomes.
  slice_batch(placed, strategy);
  move_host_parts(placed, strategy);
  recompute(placed, strategy);
  // From here on the graph is for one slice of a micro-batch, and inputs and outputs may be parts of those
  // that the host knows.
  if (facts.copies == 2) copy_as_asked(placed, strategy);
  // From here on no forward op is added.
  if (facts.updates_in_stages && strategy.weight_stashing) stash_weights(placed, facts.stages);
  if (facts.in_phases) delay_updates(placed);
  // From here on every op is in the stage and phase where it runs.
  const std::map<std::string, ir::TensorLocation> locations =
      variable_locations(placed.training, placed.placement, strategy, heard);
  Shards shards = shard_variables(placed, locations, strategy.replicas);
  fill_with_zeros(placed);
  exchange_by_ops(placed);
  // From here on values are as large as what a replica holds of them.
  if (facts.in_phases) reduce_by_ops(placed, strategy.replicas);
  if (facts.updates_in_stages && strategy.replicas > 1) reduce_copies_of_what_others_read(placed);
  // From here on Training::reduced has only what a strategy reduces between its blocks, and the graph stays
  // as it is.
  const Variables variables(placed, locations, std::move(shards));
  const std::map<std::string, ir::TensorLocation> stowed =
      stowed_activations(placed.graph(), placed.placement, strategy, heard);
  return use(Lowering{placed, strategy, facts, variables, heard, use_passes}, locations, stowed);
}

}  // namespace

executor::Program lower(ir::Graph graph, const ir::Placement& placement, const Strategy& strategy,
                        Warnings* warnings) {
  add_anchors(graph, strategy);
  return lower(ir::Training{.graph = std::move(graph)}, placement, strategy, warnings);
}

executor::Program lower(ir::Training training, const ir::Placement& placement, const Strategy& asked,
                        Warnings* warnings, const UsePasses& use_passes) {
  return rewritten(std::move(training), placement, asked, warnings, use_passes,
                   [&](const Lowering& lowering, const auto& locations, const auto& stowed) {
                     executor::Program program = run_strategy(lowering);
                     slice_host_tensors(program, lowering.placed.training, lowering.strategy);
                     finish(program, lowering.strategy, locations, stowed, lowering.warnings);
                     return program;
                   });
}

void show_passes(ir::Training training, const ir::Placement& placement, const Strategy& strategy,
                 const UsePasses& use_passes) {
  rewritten(std::move(training), placement, strategy, nullptr, use_passes,
            [](const Lowering& lowering, const auto&, const auto&) { show_passes(lowering); });
}

executor::Program on_one_processor(ir::Graph graph) {
  const ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  return lower(std::move(graph), placement, {});
}

}  // namespace podium::lower
