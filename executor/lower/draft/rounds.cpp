#include "executor/lower/draft/rounds.h"

#include <algorithm>
#include <set>

#include "ir/ops/group_exchange.h"

namespace podium::lower {
namespace {

bool share_turn(const Turn& a, const Turn& b) {
  return a.phase == b.phase && a.stage == b.stage && a.work == b.work;
}

// Whether an op may run in the section that makes what it reads.
bool goes_on(const Turn& made, const Turn& reader) {
  if (made.meeting == Meeting::OfGroup) return false;
  return reader.meeting == Meeting::OfGroup || made.processor == reader.processor;
}

}  // namespace

void cut_into_rounds(const PlacedGraph& placed, ir::IdMap<ir::OpId, Turn>& turns) {
  const ir::Graph& graph = placed.graph();
  const auto producer = producers(graph);
  ir::IdMap<ir::OpId, int> before(std::ssize(graph.ops), 0);
  int most = 1;
  for (ir::OpId op : graph.op_ids()) {
    if (ir::exchanges_in_group(graph[op])) turns[op].meeting = Meeting::OfGroup;
    if (turns[op].work != Work::MicroBatch) continue;
    for (ir::ValueId id : inputs_of(graph[op])) {
      const ir::OpId made = producer[id];
      if (!made.valid() || !share_turn(turns[made], turns[op])) continue;
      before[op] = std::max(before[op], before[made] + (goes_on(turns[made], turns[op]) ? 0 : 1));
    }
    most = std::max(most, before[op] + 1);
  }
  for (ir::OpId op : graph.op_ids()) {
    Turn& turn = turns[op];
    if (turn.work == Work::MicroBatch) turn.section = turn.section * most + before[op];
  }
}

std::size_t length_of_round(std::span<const Part> parts) {
  std::set<int> processors;
  std::set<ir::ValueId> made;
  std::size_t count = 0;
  for (const Part& part : parts) {
    const bool waits = std::ranges::any_of(part.reads, [&](ir::ValueId id) { return made.contains(id); });
    const bool fits = part.turn.work == Work::MicroBatch && share_turn(part.turn, parts.front().turn);
    const bool is_alone = part.turn.meeting != parts.front().turn.meeting ||
                          (part.turn.meeting == Meeting::OfGroup && count > 0);
    if (waits || !fits || is_alone || !processors.insert(part.turn.processor).second) break;
    made.insert(part.writes.begin(), part.writes.end());
    ++count;
  }
  return std::max<std::size_t>(count, 1);
}

}  // namespace podium::lower
