// A block with exchanges becomes pieces, which run in stages: what computes, then the exchanges that need it.
//
//   stage 0   dw = Mul(dy, x)   norm = ReduceSumSquare(dw)     block update0.0
//             sum = Collective(dw)   all = Collective(norm)    two steps
//   stage 1   ratio = Sqrt(all)   w_next = Sub(w, sum)         block update0.1
//
// What a piece leaves for others has a buffer of its own. An output of the block that overwrites what a later
// piece reads is written there too, and a last block copies it to where it belongs.
#include "executor/lower/program/split_collectives.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "executor/lower/placed/locations.h"
#include "executor/lower/placed/parts.h"
#include "executor/lower/placed/placed_graph.h"
#include "executor/lower/program/append.h"
#include "executor/lower/program/gather_in_turn.h"

namespace podium::lower {

using executor::Block;
using executor::BlockId;
using executor::Buffer;
using executor::BufferId;
using executor::Collective;
using executor::CollectiveKind;
using executor::Compute;
using executor::Program;
using executor::Slot;
using executor::Step;
using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::ValueId;

namespace {

const ir::OpSpec& collective_spec() {
  static const ir::OpSpec kSpec{
      .name = "Collective", .domain = "podium.lower", .inputs = {{"from"}}, .outputs = {{"to"}}};
  return kSpec;
}

int number(const Op& op, std::string_view name) { return ir::attribute<std::int64_t>(op, name); }

// What comes before what in a block: all that computes, then the exchanges that need it, then the next stage.
Turn turn_of(const Op& op, int stage) {
  return {.stage = stage, .work = is_collective(op) ? Work::Exchange : Work::MicroBatch};
}

// The first turn of an op behind one that makes what it reads.
Turn turn_behind(const Turn& made, const Op& op) {
  return turn_of(op, made.work == Work::Exchange ? made.stage + 1 : made.stage);
}

// What is made of the block's inputs alone, a decayed momentum say, waits for the first stage that reads it:
// then nothing has to be kept of it while replicas exchange.
void delay(const Graph& graph, IdMap<OpId, Turn>& turns) {
  constexpr int kNever = std::numeric_limits<int>::max();
  IdMap<ValueId, bool> is_made(std::ssize(graph.values), false);
  for (const Op& op : graph.ops) {
    for (ValueId id : outputs_of(op)) is_made[id] = true;
  }
  IdMap<ValueId, int> needed_in(std::ssize(graph.values), kNever);
  for (ValueId id : graph.outputs) needed_in[id] = 0;
  for (OpId id : backwards(graph)) {
    const Op& op = graph[id];
    bool reads_made = false;
    for (ValueId read : inputs_of(op)) reads_made = reads_made || is_made[read];
    if (!is_collective(op) && !op.spec->random && !reads_made && op.outputs.size() == 1) {
      const int reader = needed_in[op.outputs[0]];
      if (reader != kNever) turns[id].stage = std::max(turns[id].stage, reader);
    }
    for (ValueId read : inputs_of(op)) needed_in[read] = std::min(needed_in[read], turns[id].stage);
  }
}

// What an op needs is in its own turn or in one before.
IdMap<OpId, Turn> turns_of_exchanges(Graph& graph) {
  const IdMap<OpId, int> exchanges_before = gather_in_turn(graph);
  IdMap<ValueId, std::optional<Turn>> made_in(std::ssize(graph.values));
  IdMap<OpId, Turn> turns;
  for (const Op& op : graph.ops) {
    Turn turn = turn_of(op, exchanges_before[OpId{static_cast<int>(turns.size())}]);
    for (ValueId id : inputs_of(op)) {
      if (made_in[id]) turn = std::max(turn, turn_behind(*made_in[id], op));
    }
    for (ValueId id : outputs_of(op)) made_in[id] = turn;
    turns.push_back(turn);
  }
  delay(graph, turns);
  return turns;
}

// A block in pieces. A piece computes; one without a block exchanges what the ops of its graph say.
struct Piece {
  std::optional<BlockId> block;
  Part part;
};

struct Split {
  Graph graph;  ///< of the whole block
  std::vector<Piece> pieces;
  IdMap<ValueId, OpId> exchanges;       ///< by what a replica has a part of: who gathers or scatters it
  std::map<ValueId, BufferId> between;  ///< what a piece leaves for others
  std::map<ValueId, BlockId> copies;    ///< blocks that take a value where it belongs
};

// Of each value that an exchange gathers, or leaves a part of, the last one that does.
IdMap<ValueId, OpId> exchanges_of_parts(const Graph& graph) {
  IdMap<ValueId, OpId> exchanges(std::ssize(graph.values));
  for (OpId id : graph.op_ids()) {
    const Op& op = graph[id];
    if (!is_collective(op)) continue;
    const CollectiveKind kind = collective_of(op).kind;
    if (kind == CollectiveKind::AllGather) exchanges[op.inputs[0]] = id;
    if (kind == CollectiveKind::ReduceScatter) exchanges[op.outputs[0]] = id;
  }
  return exchanges;
}

// Places of the block's outputs that overwrite what a later piece than their own reads.
std::vector<std::size_t> late_outputs(const Split& split, const Compute& compute) {
  std::map<ValueId, int> made_in;
  std::map<ValueId, int> last_read_in;
  for (int p = 0; p < std::ssize(split.pieces); ++p) {
    for (ValueId id : split.pieces[p].part.reads) last_read_in[id] = p;
    for (ValueId id : split.pieces[p].part.writes) made_in[id] = p;
  }
  std::map<BufferId, int> read_until;
  for (std::size_t i = 0; i < compute.reads.size(); ++i) {
    read_until[compute.reads[i].buffer] = last_read_in[split.graph.inputs[i]];
  }
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < compute.writes.size(); ++i) {
    const auto read = read_until.find(compute.writes[i].buffer);
    if (read != read_until.end() && read->second > made_in[split.graph.outputs[i]]) late.push_back(i);
  }
  return late;
}

class Splitter {
 public:
  explicit Splitter(Program& program) : program_(program), splits_(std::ssize(program.blocks)) {
    for (BlockId id : splits_.ids()) {
      const Graph& graph = program[id].graph;
      if (std::any_of(graph.ops.begin(), graph.ops.end(), is_collective)) splits_[id] = split(id);
    }
  }

  std::vector<Step> rewrite(std::vector<Step> steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      if (auto* repeat = std::get_if<executor::Repeat>(&step.action))
        repeat->body = rewrite(std::move(repeat->body));
      const auto* compute = std::get_if<Compute>(&step.action);
      if (compute != nullptr && splits_[compute->block]) {
        write(step, *compute, *splits_[compute->block], result);
      } else {
        result.push_back(std::move(step));
      }
    }
    return result;
  }

 private:
  // The first piece that computes stays under the block's id.
  Split split(BlockId id) {
    Split made;
    made.graph = std::move(program_[id].graph);
    const Block whole = std::exchange(
        program_[id], {.name = program_[id].name + ".0", .processor = program_[id].processor, .graph = {}});
    const std::map<ValueId, BufferId> weights = weights_by_value(made.graph, whole.weights, whole.name);
    std::optional<BlockId> next = id;
    const IdMap<OpId, Turn> turns = turns_of_exchanges(made.graph);
    made.exchanges = exchanges_of_parts(made.graph);
    for (Part& part : make_parts(made.graph, turns, {.whole_turns = true})) {
      Piece& piece = made.pieces.emplace_back();
      if (part.turn.work != Work::Exchange) {
        Block block{.name = fmt::format("{}.{}", whole.name, part.turn.stage),
                    .processor = whole.processor,
                    .graph = std::move(part.graph)};
        for (const PartWeight& weight : part.weights) block.weights.push_back(weights.at(weight.whole));
        piece.block = put(std::move(block), std::exchange(next, std::nullopt));
      }
      piece.part = std::move(part);
    }
    return made;
  }
  BlockId put(Block block, std::optional<BlockId> in_place_of) {
    if (in_place_of) {
      program_[*in_place_of] = std::move(block);
      return *in_place_of;
    }
    return append(program_, std::move(block));
  }

  // The steps of one run of the block. What becomes a variable that a later piece reads waits until that has
  // read it.
  void write(const Step& step, const Compute& compute, Split& split, std::vector<Step>& result) {
    std::map<ValueId, Slot> slots;
    for (std::size_t i = 0; i < compute.reads.size(); ++i)
      slots.emplace(split.graph.inputs[i], compute.reads[i]);
    const std::vector<std::size_t> late = late_outputs(split, compute);
    for (std::size_t i = 0; i < compute.writes.size(); ++i) {
      if (std::find(late.begin(), late.end(), i) != late.end()) continue;
      slots.emplace(split.graph.outputs[i], compute.writes[i]);
    }
    const auto slot_of = [&](ValueId id) {
      const auto found = slots.find(id);
      return found != slots.end() ? found->second
                                  : Slot{between(id, program_[compute.block].processor, split)};
    };
    const auto add = [&](auto action) {
      result.push_back({.action = std::move(action),
                        .micro_batch = step.micro_batch,
                        .micro_batch_stride = step.micro_batch_stride,
                        .acts = step.acts,
                        .origin = step.origin});
    };
    for (const Piece& piece : split.pieces) {
      if (!piece.block) {
        for (const Op& op : piece.part.graph.ops) {
          Collective collective = collective_of(op);
          collective.transfer = {slot_of(outer(piece.part.graph.inputs, piece.part.reads, op.inputs[0])),
                                 slot_of(outer(piece.part.graph.outputs, piece.part.writes, op.outputs[0]))};
          add(std::move(collective));
        }
        continue;
      }
      Compute run{.block = *piece.block, .reads = {}, .writes = {}};
      for (ValueId id : piece.part.reads) run.reads.push_back(slot_of(id));
      for (ValueId id : piece.part.writes) run.writes.push_back(slot_of(id));
      add(std::move(run));
    }
    for (std::size_t i : late) {
      const ValueId id = split.graph.outputs[i];
      add(Compute{copy_of(id, program_[compute.block].processor, split), {slot_of(id)}, {compute.writes[i]}});
    }
  }
  // The value of the whole block that a piece that exchanges knows as `id`.
  static ValueId outer(const std::vector<ValueId>& locals, const std::vector<ValueId>& outers, ValueId id) {
    const auto found = std::find(locals.begin(), locals.end(), id);
    IR_CHECK(found != locals.end(), "an exchange whose result nobody reads");
    return outers[found - locals.begin()];
  }
  BlockId copy_of(ValueId id, int processor, Split& split) {
    const auto [entry, is_new] = split.copies.try_emplace(id);
    if (is_new) {
      const ir::Value& value = split.graph[id];
      entry->second = put(keeping_block(value, processor), std::nullopt);
    }
    return entry->second;
  }

  BufferId between(ValueId id, int processor, Split& split) {
    const auto [entry, is_new] = split.between.try_emplace(id);
    if (!is_new) return entry->second;
    Buffer buffer{.name = split.graph[id].name, .type = split.graph[id].type, .processor = processor};
    if (const OpId exchange = split.exchanges[id]; exchange.valid()) {
      const Op& op = split.graph[exchange];
      const ir::ReplicaGroup group = collective_of(op).group;
      buffer.type = split.graph[op.inputs[0] == id ? op.outputs[0] : op.inputs[0]].type;
      buffer.group = group;
      buffer.shards = executor::replica_group_size(group, program_.replicas);
    }
    return entry->second = append(program_, std::move(buffer));
  }

  Program& program_;
  IdMap<BlockId, std::optional<Split>> splits_;
};

}  // namespace

bool is_collective(const Op& op) { return op.spec == &collective_spec(); }

Collective collective_of(const Op& op) {
  Collective collective;
  collective.kind = static_cast<CollectiveKind>(number(op, "kind"));
  collective.reduction = static_cast<executor::CollectiveReduction>(number(op, "reduction"));
  collective.group = {static_cast<ir::GroupType>(number(op, "group")), number(op, "group_size"),
                      number(op, "stride")};
  return collective;
}

Op collective_op(CollectiveKind kind, executor::CollectiveReduction reduction, const ir::ReplicaGroup& group,
                 ValueId from, ValueId to) {
  Op op{.spec = &collective_spec(), .inputs = {from}, .outputs = {to}};
  ir::set_attribute(op, "kind", static_cast<std::int64_t>(kind));
  ir::set_attribute(op, "reduction", static_cast<std::int64_t>(reduction));
  ir::set_attribute(op, "group", static_cast<std::int64_t>(group.type));
  ir::set_attribute(op, "group_size", std::int64_t{group.size});
  ir::set_attribute(op, "stride", std::int64_t{group.stride});
  return op;
}

void split_collectives(Program& program) {
  Splitter splitter(program);
  program.steps = splitter.rewrite(std::move(program.steps));
}

}  // namespace podium::lower
