#include "executor/lower/draft/rounds.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/ops/group_exchange.h"
#include "ir/random_draws.h"

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

// The section of each op is the first in which it can run. What is computed for a later section alone moves
// there where that keeps no more bytes between the sections than before: what the way back transposes or
// casts of the way forward would lie beside what it is made of.
class Later {
 public:
  Later(const ir::Training& training, const ir::IdMap<ir::OpId, Turn>& turns,
        ir::IdMap<ir::OpId, int>& section)
      : graph_(training.graph),
        turns_(turns),
        section_(section),
        readers_(consumers(graph_)),
        producer_(producers(graph_)),
        last_read_(std::ssize(graph_.values), -1),
        changes_(std::ssize(graph_.values), false) {
    for (ir::ValueId id : graph_.outputs) last_read_[id] = kAlways;
    for (const ir::Update& update : training.updates) changes_[update.variable] = !update.outer;
  }

  void run() {
    for (ir::OpId op : backwards(graph_)) {
      const int section = first_reader(op);
      if (section > section_[op] && keeps_no_more(op, section)) section_[op] = section;
      for (ir::ValueId id : inputs_of(graph_[op])) last_read_[id] = std::max(last_read_[id], section_[op]);
    }
  }

 private:
  static constexpr int kAlways = std::numeric_limits<int>::max();

  // The first section whose ops read what the op makes; its own where it has to stay there.
  int first_reader(ir::OpId op) const {
    const Turn& turn = turns_[op];
    if (turn.work != Work::MicroBatch || turn.meeting == Meeting::OfGroup || ir::draws_in_turn(graph_[op]))
      return section_[op];
    int first = kAlways;
    for (ir::ValueId id : outputs_of(graph_[op])) {
      if (last_read_[id] == kAlways) return section_[op];
      for (ir::OpId reader : readers_[id]) {
        if (!share_turn(turn, turns_[reader])) return section_[op];
        first = std::min(first, section_[reader] - (goes_on(turn, turns_[reader]) ? 0 : 1));
      }
    }
    return first == kAlways ? section_[op] : first;
  }

  bool keeps_no_more(ir::OpId op, int section) const {
    std::int64_t bytes = 0;
    for (ir::ValueId id : inputs_of(graph_[op])) {
      if (!graph_[id].type.is_static() || changes_[id]) return false;
      const bool is_there = !producer_[id].valid() || last_read_[id] >= section;
      if (!is_there) bytes += ir::packed_bytes(graph_[id].type);
    }
    for (ir::ValueId id : outputs_of(graph_[op])) {
      if (!graph_[id].type.is_static()) return false;
      bytes -= ir::packed_bytes(graph_[id].type);
    }
    return bytes <= 0;
  }

  const ir::Graph& graph_;
  const ir::IdMap<ir::OpId, Turn>& turns_;
  ir::IdMap<ir::OpId, int>& section_;
  const ir::Consumers readers_;
  const ir::IdMap<ir::ValueId, ir::OpId> producer_;
  ir::IdMap<ir::ValueId, int> last_read_;  ///< the last section that reads it; kAlways: it is an output
  ir::IdMap<ir::ValueId, bool> changes_;  ///< a variable that a micro-batch changes: who reads it comes first
};

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
  Later(placed.training, turns, before).run();
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
