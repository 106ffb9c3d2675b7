// Parts are found by walking the graph as a scheduler would: of the ops whose inputs are made, those of the
// turn at hand go first, by their priority and in the order of the graph; when it has none left, its part
// ends and the lowest turn with an op that is ready begins the next one. Ops that may wait and that nothing
// of the part reads, nor another turn, are put off until something comes for their turn.
//
//   turn 0: a ── c ──┐         parts: {a, c}, {b, d}, {e}
//   turn 1: b ── d ──┴ e  (e is of turn 0)
//
// A value then belongs to the part that makes it, and crosses where another one, or the host, reads it.
#include "executor/lower/placed/parts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "ir/ops/group_exchange.h"

namespace podium::lower {
namespace {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::ValueId;

constexpr int kNowhereYet = -1;

// Which of several ops that can run goes first.
struct Rank {
  float lowered = 0;  ///< the priority with its sign turned: the least goes first
  OpId op;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

// The ops of each part, in order.
class Cutter {
 public:
  Cutter(const Graph& graph, const IdMap<OpId, Turn>& turns, const PartOptions& options)
      : graph_(graph),
        turns_(turns),
        options_(options),
        readers_(consumers(graph)),
        waits_for_(std::ssize(graph.ops), 0),
        stays_(std::ssize(graph.ops), false) {
    const auto producer = producers(graph);
    for (OpId id : graph.op_ids()) {
      for (ValueId input : inputs_of(graph[id])) waits_for_[id] += producer[input].valid() ? 1 : 0;
      if (waits_for_[id] == 0) make_ready(id);
    }
  }

  std::vector<std::vector<OpId>> cut() {
    std::vector<std::vector<OpId>> parts;
    while (!ready_.empty()) {
      std::vector<OpId> ops = run(ready_.begin()->first);
      if (options_.may_wait) put_off(ops);
      if (!ops.empty()) parts.push_back(std::move(ops));
    }
    IR_CHECK(put_off_.empty(), "ops that nothing reads were put off");
    return parts;
  }

 private:
  using Ready = std::priority_queue<Rank, std::vector<Rank>, std::greater<>>;

  void make_ready(OpId id) {
    ready_[turns_[id]].push({options_.priority ? -options_.priority(id) : 0.0F, id});
  }

  // Something has come for the turn: what was put off may be read now.
  void wake(const Turn& turn) {
    const auto waiting = put_off_.find(turn);
    if (waiting == put_off_.end()) return;
    for (OpId id : waiting->second) make_ready(id);
    put_off_.erase(waiting);
  }

  // All that can run of a turn now.
  std::vector<OpId> run(const Turn turn) {
    std::vector<OpId> ops;
    for (auto here = ready_.find(turn); here != ready_.end(); here = ready_.find(turn)) {
      const OpId next = here->second.top().op;
      here->second.pop();
      if (here->second.empty()) ready_.erase(here);
      ops.push_back(next);
      for (ValueId output : outputs_of(graph_[next])) {
        for (OpId reader : readers_[output]) {
          if (--waits_for_[reader] == 0) make_ready(reader);
          if (turns_[reader] != turn) wake(turns_[reader]);
        }
      }
    }
    return ops;
  }

  bool is_needed(OpId id, const Turn& turn) const {
    if (!options_.may_wait(id)) return true;
    bool is_read = false;
    for (ValueId output : outputs_of(graph_[id])) {
      for (OpId reader : readers_[output]) {
        if (turns_[reader] != turn || stays_[reader]) return true;
        is_read = true;
      }
    }
    return !is_read;
  }

  // Takes out of a part what only later parts of its turn read.
  void put_off(std::vector<OpId>& ops) {
    const Turn turn = turns_[ops.front()];
    for (auto id = ops.rbegin(); id != ops.rend(); ++id) {
      stays_[*id] = is_needed(*id, turn);
      if (stays_[*id]) continue;
      for (ValueId output : outputs_of(graph_[*id])) {
        for (OpId reader : readers_[output]) ++waits_for_[reader];
      }
    }
    for (OpId id : ops) {
      if (!stays_[id] && waits_for_[id] == 0) put_off_[turn].push_back(id);
    }
    std::erase_if(ops, [&](OpId id) { return !stays_[id]; });
  }

  const Graph& graph_;
  const IdMap<OpId, Turn>& turns_;
  const PartOptions& options_;
  const ir::Consumers readers_;
  IdMap<OpId, int> waits_for_;
  IdMap<OpId, bool> stays_;  // in the part that it has been in
  std::map<Turn, Ready> ready_ = {};
  std::map<Turn, std::vector<OpId>> put_off_ = {};  // could run, but nobody can who reads it
};

// Builds the parts' graphs one after the other.
class PartMaker {
 public:
  PartMaker(const Graph& graph, const std::vector<std::vector<OpId>>& parts,
            const std::function<bool(ValueId)>& streamed)
      : graph_(graph), streamed_(streamed), values_(std::ssize(graph.values)) {
    for (ValueId id : graph.inputs) values_[id].is_input = true;
    for (int p = 0; p < std::ssize(parts); ++p) {
      for (OpId op : parts[p]) {
        for (ValueId id : inputs_of(graph[op])) {
          if (values_[id].made_in != p) values_[id].crosses = true;
        }
        for (ValueId id : outputs_of(graph[op])) values_[id].made_in = p;
      }
    }
    for (ValueId id : graph.outputs) values_[id].crosses = true;
    // A member of a group gets its result even where nothing reads it.
    for (const Op& op : graph.ops) {
      if (!ir::exchanges_in_group(op)) continue;
      for (ValueId id : outputs_of(op)) values_[id].crosses = true;
    }
  }

  Part make(int index, const std::vector<OpId>& ops) {
    Part part;
    part.graph.name = graph_.name;
    part.graph.ops.reserve(ops.size());
    for (OpId id : ops) {
      Op op = graph_[id];
      for (ValueId& input : op.inputs) {
        if (input.valid()) input = local(part, index, input);
      }
      for (ValueId& output : op.outputs) {
        if (!output.valid()) continue;
        const ValueId outer = output;
        output = add(part, index, outer);
        if (!values_[outer].crosses) continue;
        part.writes.push_back(outer);
        part.graph.outputs.push_back(output);
      }
      part.graph.ops.push_back(std::move(op));
    }
    return part;
  }

 private:
  struct Crossing {
    bool is_input = false;
    bool crosses = false;
    int made_in = kNowhereYet;
    int known_in = kNowhereYet;  ///< the last part that has it, under `local`
    ValueId local;
  };

  ValueId add(Part& part, int index, ValueId outer) {
    const ValueId id{static_cast<std::int32_t>(part.graph.values.size())};
    part.graph.values.push_back(graph_[outer]);
    values_[outer].known_in = index;
    return values_[outer].local = id;
  }

  // The value under the part's own id, brought in at its first use.
  ValueId local(Part& part, int index, ValueId outer) {
    const Crossing& value = values_[outer];
    if (value.known_in == index) return value.local;
    const ValueId id = add(part, index, outer);
    const bool from_elsewhere = value.is_input || value.made_in != kNowhereYet;
    if (from_elsewhere || (streamed_ && streamed_(outer))) {
      if (!from_elsewhere) {
        part.graph[id].constant.reset();
        part.graph[id].data_left_out = false;
      }
      part.reads.push_back(outer);
      part.graph.inputs.push_back(id);
    } else {
      part.weights.push_back({.whole = outer, .local = id});
    }
    return id;
  }

  const Graph& graph_;
  const std::function<bool(ValueId)>& streamed_;
  IdMap<ValueId, Crossing> values_;
};

// The processor of the member that has the value among these operands of its exchange.
int member_of(const Part& part, ValueId local, std::vector<ValueId> Op::*operands) {
  for (const Op& op : part.graph.ops) {
    const auto found = std::ranges::find(op.*operands, local);
    if (found != (op.*operands).end()) return ir::group_processor(op, found - (op.*operands).begin());
  }
  IR_CHECK(false, "'{}' is of no member", part.graph[local].name);
}

}  // namespace

int reader_of(const Part& part, std::size_t read) {
  if (part.turn.meeting == Meeting::None) return part.turn.processor;
  return member_of(part, part.graph.inputs[read], &Op::inputs);
}

int maker_of(const Part& part, std::size_t write) {
  if (part.turn.meeting == Meeting::None) return part.turn.processor;
  return member_of(part, part.graph.outputs[write], &Op::outputs);
}

std::vector<int> makers_of(const Part& part) {
  std::vector<int> makers;
  for (std::size_t i = 0; i < part.writes.size(); ++i) makers.push_back(maker_of(part, i));
  return makers;
}

std::string to_string(const Turn& turn) {
  std::string text;
  const auto add = [&](std::string_view what) { text.append(text.empty() ? "" : ", ").append(what); };
  if (turn.phase != 0) add(fmt::format("phase {}", turn.phase));
  if (turn.stage != 0) add(fmt::format("stage {}", turn.stage));
  constexpr std::string_view kWorks[] = {"micro-batch", "late", "update", "exchange"};
  if (turn.work != Work::MicroBatch) add(kWorks[static_cast<int>(turn.work)]);
  if (turn.section != 0) add(fmt::format("section {}", turn.section));
  if (turn.meeting == Meeting::OfGroup) add("meeting");
  if (turn.processor != 0) add(fmt::format("ipu {}", turn.processor));
  if (turn.tiles == ir::TileSet::IO) add("IO tiles");
  return text.empty() ? "the first turn" : text;
}

std::vector<Part> make_parts(const Graph& graph, const IdMap<OpId, Turn>& turns, const PartOptions& options) {
  IR_CHECK(turns.size() == std::ssize(graph.ops));
  const std::vector<std::vector<OpId>> ops = Cutter(graph, turns, options).cut();
  PartMaker maker(graph, ops, options.streamed);
  std::vector<Part> parts;
  for (const std::vector<OpId>& of_part : ops) {
    Part part = maker.make(parts.size(), of_part);
    part.turn = turns[of_part.front()];
    IR_CHECK(!options.whole_turns || parts.empty() || parts.back().turn < part.turn,
             "the ops of {} cannot run together before those of {}", to_string(part.turn),
             to_string(parts.back().turn));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace podium::lower
