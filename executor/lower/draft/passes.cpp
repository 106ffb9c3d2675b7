// The turns of a pipeline's passes are numbers of stages that ascend in the order in which a micro-batch can
// take them: of `n` chunks, chunk c goes there in c, back in 2 n - c, and has its weight gradients in 4 n -
// c; the update is 5 n. The parts that the graph is cut into by them are the blocks of the passes.
#include "executor/lower/draft/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "executor/lower/draft/cut_update.h"
#include "executor/lower/draft/rounds.h"

namespace podium::lower {

using ir::OpId;
using ir::ValueId;
using schedule::Backward;
using schedule::Pass;

namespace {

std::vector<std::int64_t> kept_for_ways_back(const PlacedGraph& placed, const Chunks& chunks) {
  const ir::Graph& graph = placed.graph();
  const auto makers = producers(graph);
  const auto readers = consumers(graph);
  std::map<std::pair<int, int>, std::int64_t> of_processors;  // by chunk and processor
  for (ValueId id : graph.value_ids()) {
    if (!makers[id].valid() || chunks.of_op[makers[id]].pass != Pass::Forward) continue;
    std::set<std::pair<int, int>> waits_in;  // chunks, and processors that keep it for them
    for (OpId reader : readers[id]) {
      if (placed.is_outer(reader) || chunks.of_op[reader].pass == Pass::Forward) continue;
      waits_in.emplace(chunks.of_op[reader].chunk, placed[reader].processor);
    }
    for (const auto& place : waits_in) of_processors[place] += ir::packed_bytes(graph[id].type);
  }
  std::vector<std::int64_t> kept(chunks.layout.chunks(), 0);
  for (const auto& [place, bytes] : of_processors) kept[place.first] = std::max(kept[place.first], bytes);
  return kept;
}

// Of the fullest processor of each group.
std::vector<std::int64_t> variables_on_chip(const Lowering& lowering) {
  std::vector<std::int64_t> bytes(lowering.placed.placement.processors, 0);
  for (const PlacedVariable& variable : lowering.variables.all()) {
    if (variable.location.storage != ir::Storage::OnChip || variable.location.sharded) continue;
    for (const int processor : lowering.variables.processors(variable.value)) {
      bytes[processor] += ir::packed_bytes(lowering.placed.graph()[variable.value].type);
    }
  }
  std::vector<std::int64_t> most;
  for (const std::vector<int>& group : find_groups(lowering.placed).processors) {
    most.push_back(0);
    for (const int processor : group) most.back() = std::max(most.back(), bytes[processor]);
  }
  return most;
}

Backward backward_in(const Strategy& strategy) {
  if (strategy.pipeline_order != PipelineOrder::Listed) {
    return schedule::family_of(strategy.pipeline_order).backward;
  }
  return is_split(schedule::Schedule{.orders = strategy.pipeline_list}) ? Backward::Split : Backward::Whole;
}

}  // namespace

Adjacent adjacent_in(const Strategy& strategy) {
  if (strategy.pipeline_order == PipelineOrder::Listed) return Adjacent::AreApart;
  const bool is_v = schedule::family_of(strategy.pipeline_order).shape == schedule::Shape::V;
  return is_v ? Adjacent::AreApart : Adjacent::AreOne;
}

Chunks chunks_in(const PlacedGraph& placed, const Strategy& strategy, Backward backward) {
  Chunks chunks = find_chunks(placed, adjacent_in(strategy));
  if (backward == Backward::Whole) make_whole(chunks);
  return chunks;
}

void make_whole(Chunks& chunks) {
  for (ChunkPass& of : chunks.of_op) {
    if (of.pass == Pass::WeightGradient) of.pass = Pass::InputGradient;
  }
}

ir::IdMap<OpId, Turn> turns_of_passes(const PlacedGraph& placed, const Variables& variables,
                                      const Chunks& chunks) {
  const UpdateSections update = cut_update(placed, variables);
  const int last = chunks.layout.chunks();
  ir::IdMap<OpId, Turn> turns;
  for (OpId op : placed.graph().op_ids()) {
    const ChunkPass& of = chunks.of_op[op];
    Turn turn{.stage = of.chunk, .processor = placed[op].processor};
    if (of.pass != Pass::Forward) turn.stage = 2 * last - of.chunk;
    if (of.pass == Pass::WeightGradient) turn.stage += 2 * last;
    if (placed.is_outer(op)) {
      turn.stage = 5 * last;
      turn.work = Work::Update;
      turn.section = update.of_op[op];
    }
    turns.push_back(turn);
  }
  cut_into_rounds(placed, turns);
  return turns;
}

ChunkPass pass_of(const Turn& turn, int chunks) {
  if (turn.stage < chunks) return {Pass::Forward, turn.stage};
  if (turn.stage <= 2 * chunks) return {Pass::InputGradient, 2 * chunks - turn.stage};
  return {Pass::WeightGradient, 4 * chunks - turn.stage};
}

PassBlocks blocks_of_passes(const Lowering& lowering, const Chunks& chunks, Backward backward,
                            const std::vector<Part>& parts,
                            const std::function<ChunkPass(const Turn&)>& pass_of) {
  PassBlocks found{.layout = chunks.layout,
                   .backward = backward,
                   .kept_bytes = kept_for_ways_back(lowering.placed, chunks),
                   .variable_bytes = variables_on_chip(lowering)};
  for (const Part& part : parts) {
    if (part.turn.meeting == Meeting::OfGroup) continue;
    const PassBlocks::Block block{part.turn.processor, &part.graph};
    if (part.turn.work == Work::Update) {
      found.updates.push_back(block);
    } else {
      found.passes.push_back({pass_of(part.turn), block});
    }
  }
  return found;
}

void show_passes(const Lowering& lowering) {
  const PlacedGraph& placed = lowering.placed;
  const Backward backward = backward_in(lowering.strategy);
  const Chunks chunks = chunks_in(placed, lowering.strategy, backward);
  const std::vector<Part> parts =
      make_parts(placed.graph(), turns_of_passes(placed, lowering.variables, chunks));
  lowering.use_passes(blocks_of_passes(lowering, chunks, backward, parts, [&](const Turn& turn) {
    return pass_of(turn, chunks.layout.chunks());
  }));
}

void show_passes_of_stages(const Lowering& lowering, const std::vector<Part>& parts) {
  const PlacedGraph& placed = lowering.placed;
  const Backward backward = backward_in(lowering.strategy);
  const Chunks chunks = chunks_in(placed, lowering.strategy, backward);
  std::vector<ChunkPass> of_stages(lowering.facts.stages.count());
  for (OpId op : placed.graph().op_ids()) {
    if (!placed.is_outer(op)) of_stages[lowering.facts.stages.of(placed[op])] = chunks.of_op[op];
  }
  for (ChunkPass& of : of_stages) {
    if (of.chunk == chunks.layout.chunks() - 1) of.pass = Pass::Forward;
  }
  lowering.use_passes(blocks_of_passes(lowering, chunks, backward, parts,
                                       [&](const Turn& turn) { return of_stages[turn.stage]; }));
}

}  // namespace podium::lower
