// Which forward ops run again, and their copies. Standard checkpoints, for n forward ops in their order:
// intervals of 0.75 (sqrt(2 n) - 1) ops, each shorter than the one before by one op; in each the op after
// which the fewest bytes wait, and what it and those before it leave to later ops is kept.
//
// A copy is made where the backward pass first reads what an op has made, of that op and of all it needs that
// runs again too, down to values that are kept:
//
//   h = Relu(x)   y = Mul(h, w)   ...   dw = Mul(dy, h)     becomes   ...   h:0 = Relu(x)   dw = Mul(dy, h:0)
#include "executor/lower/graph/recompute.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "executor/lower/placed/op_passes.h"
#include "executor/program.h"
#include "ir/ops/group_exchange.h"
#include "ir/random_draws.h"

namespace podium::lower {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::OpPlacement;
using ir::Recompute;
using ir::ValueId;

namespace {

// What waits of the forward pass, by the place in the list of its ops.
struct ForwardLives {
  std::vector<std::int64_t> bytes;         ///< made up to an op and still read behind it
  IdMap<ValueId, std::int64_t> last_read;  ///< the last op that reads a value

  ForwardLives(const Graph& graph, const std::vector<OpId>& forward)
      : last_read(std::ssize(graph.values), 0) {
    const std::int64_t count = std::ssize(forward);
    for (std::int64_t k = 0; k < count; ++k) {
      for (ValueId id : inputs_of(graph[forward[k]])) last_read[id] = k;
    }
    std::vector<std::int64_t> dies(count + 1, 0);
    std::int64_t live = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      for (ValueId id : outputs_of(graph[forward[k]])) {
        if (last_read[id] <= k) continue;
        const std::int64_t size = ir::packed_bytes(graph[id].type);
        live += size;
        dies[last_read[id]] += size;
      }
      live -= dies[k];
      bytes.push_back(live);
    }
  }
};

// In each interval, the ops whose results wait where the least does are checkpoints (semantics,
// section 12.2).
IdMap<OpId, bool> standard_checkpoints(const Graph& graph, const std::vector<OpId>& forward) {
  const ForwardLives lives(graph, forward);
  IdMap<OpId, bool> is_checkpoint(std::ssize(graph.ops), false);
  const std::int64_t count = std::ssize(forward);
  const double root = std::floor(std::sqrt(2.0 * static_cast<double>(count)) - 1);
  auto length = static_cast<std::int64_t>(std::max(1.0, 0.75 * root));
  for (std::int64_t first = 0; first < count;
       first += std::exchange(length, std::max<std::int64_t>(1, length - 1))) {
    const auto begin = lives.bytes.begin();
    const std::int64_t cheapest =
        std::min_element(begin + first, begin + std::min(first + length, count)) - begin;
    for (std::int64_t k = first; k <= cheapest; ++k) {
      for (ValueId id : outputs_of(graph[forward[k]])) {
        if (lives.last_read[id] > cheapest) is_checkpoint[forward[k]] = true;
      }
    }
  }
  return is_checkpoint;
}

// Ops that compute with weights and constants alone, such as the transposition of a table that is the head,
// too.
IdMap<OpId, bool> made_of_weights(const PlacedGraph& placed) {
  const Graph& graph = placed.graph();
  std::set<ValueId> known = weights_of(placed.training);
  IdMap<OpId, bool> made(std::ssize(graph.ops), false);
  for (OpId id : graph.op_ids()) {
    const auto is_known = [&](ValueId read) { return known.contains(read) || graph.is_constant(read); };
    made[id] = !placed.is_outer(id) && std::ranges::all_of(inputs_of(graph[id]), is_known);
    if (!made[id]) continue;
    for (ValueId result : outputs_of(graph[id])) known.insert(result);
  }
  return made;
}

// Writes the graph anew, with copies of ops in front of their first reader in the backward pass.
class Copier {
 public:
  Copier(PlacedGraph& placed, IdMap<OpId, bool> again)
      : placed_(placed),
        graph_(placed.graph()),
        again_(std::move(again)),
        producer_(producers(graph_)),
        passes_(passes_of(placed)),
        ops_(placed.take_ops()) {}

  void run() {
    for (OpId id : passes_.ids()) {
      PlacedOp one = again_[id] ? ops_[id] : std::move(ops_[id]);
      if (passes_[id] == OpPass::Backward) {
        for (std::size_t i = 0; i < one.op.inputs.size(); ++i)
          one.op.inputs[i] = again(one.op.inputs[i], one.place_of_input(i));
      }
      placed_.append(std::move(one.op), one.place);
    }
  }

 private:
  using Key = std::tuple<ValueId, int, int, int>;
  static Key key(ValueId id, const OpPlacement& place) {
    return {id, place.processor, place.stage, place.phase};
  }

  // The value as ops of the backward pass there read it.
  ValueId again(ValueId id, const OpPlacement& place) {
    const OpId maker = id.valid() ? producer_[id] : OpId{};
    if (!maker.valid() || !again_[maker]) return id;
    const bool is_exchange = ir::exchanges_in_group(ops_[maker].op);
    if (!is_exchange && ops_[maker].place.processor != place.processor) return id;
    const auto found = copies_.find(key(id, place));
    if (found != copies_.end()) return found->second;
    Op op = ops_[maker].op;
    // An exchange has an operand and a result on each of its members, whose copies are those of its stage.
    const auto place_of = [&](std::size_t member) {
      OpPlacement own = place;
      if (is_exchange) own.processor = ir::group_processor(op, member);
      return own;
    };
    for (std::size_t i = 0; i < op.inputs.size(); ++i) op.inputs[i] = again(op.inputs[i], place_of(i));
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid()) continue;
      const ir::Value original = graph_[op.outputs[i]];
      const ValueId copy = graph_.add_value(graph_.fresh_name(original.name), original.type);
      copies_[key(op.outputs[i], place_of(i))] = copy;
      op.outputs[i] = copy;
    }
    const OpPlacement own = place_of(0);
    placed_.append(std::move(op), own);
    return copies_.at(key(id, place));
  }

  PlacedGraph& placed_;
  Graph& graph_;
  IdMap<OpId, bool> again_;
  IdMap<ValueId, OpId> producer_;
  IdMap<OpId, OpPass> passes_;
  IdMap<OpId, PlacedOp> ops_;
  std::map<Key, ValueId> copies_;
};

}  // namespace

IdMap<OpId, bool> ops_to_recompute(const PlacedGraph& placed, const Strategy& strategy) {
  const Graph& graph = placed.graph();
  const IdMap<OpId, OpPass> passes = passes_of(placed);
  std::vector<OpId> forward;
  for (OpId id : graph.op_ids()) {
    if (passes[id] == OpPass::Forward) forward.push_back(id);
  }
  const IdMap<ValueId, OpId> makers = producers(graph);
  const OpId loss = makers[graph.outputs[placed.training.loss]];
  const auto is_beside_loss = [&](const OpPlacement& op) {
    if (placed.placement.stages == 1 && placed.placement.phases == 1) return false;
    return op.stage == placed[loss].stage && op.phase == placed[loss].phase;
  };
  IdMap<OpId, bool> is_checkpoint(std::ssize(graph.ops), false);
  if (strategy.recomputation == Recomputation::Standard) is_checkpoint = standard_checkpoints(graph, forward);
  const auto is_chosen = [&](OpId op) {
    switch (strategy.recomputation) {
      case Recomputation::None:
        return false;
      case Recomputation::Standard:
        return !is_checkpoint[op];
      case Recomputation::NormOnly:
        return graph[op].spec->norm;
      case Recomputation::Pipeline:
      case Recomputation::RecomputeAll:
        return !is_beside_loss(placed[op]);
    }
    IR_CHECK(false);
  };
  // Weights that wait for the update are the same for all micro-batches under way, so what is made of them
  // alone needs no stash.
  const bool would_stash =
      strategy.pipelining && placed.placement.stages > 1 && strategy.accumulation_factor > 1;
  const IdMap<OpId, bool> of_weights = made_of_weights(placed);
  IdMap<OpId, bool> again(std::ssize(graph.ops), false);
  // No node of the model is an exchange, nobody asks for it: it follows what makes its operands.
  const auto is_exchanged_again = [&](OpId op) {
    return strategy.tensor_parallel.recomputes_exchanges &&
           std::ranges::all_of(inputs_of(graph[op]),
                               [&](ValueId id) { return makers[id].valid() && again[makers[id]]; });
  };
  for (OpId op : forward) {
    const Recompute asked = placed[op].recompute;
    const bool is_left_open = asked == Recompute::Undefined;
    const bool is_asked =
        is_left_open ? is_chosen(op) || (would_stash && of_weights[op]) : asked != Recompute::Checkpoint;
    again[op] = ir::exchanges_in_group(graph[op]) ? is_exchanged_again(op)
                                                  : is_asked && !ir::draws_in_turn(graph[op]);
  }
  return again;
}

std::vector<ValueId> kept_for_backward(const PlacedGraph& placed, const Strategy& strategy) {
  const Graph& graph = placed.graph();
  const IdMap<OpId, OpPass> passes = passes_of(placed);
  const IdMap<OpId, bool> again = ops_to_recompute(placed, strategy);
  const auto makers = producers(graph);
  IdMap<ValueId, bool> is_read(std::ssize(graph.values), false);
  std::vector<ValueId> kept;
  for (OpId op : backwards(graph)) {
    bool runs_again = false;
    for (ValueId id : outputs_of(graph[op])) runs_again = runs_again || (again[op] && is_read[id]);
    if (passes[op] != OpPass::Backward && !runs_again) continue;
    for (ValueId id : inputs_of(graph[op])) {
      if (is_read[id]) continue;
      is_read[id] = true;
      const OpId maker = makers[id];
      if (maker.valid() && passes[maker] == OpPass::Forward && !again[maker]) kept.push_back(id);
    }
  }
  return kept;
}

void recompute(PlacedGraph& placed, const Strategy& strategy) {
  if (placed.training.updates.empty()) return;
  IdMap<OpId, bool> again = ops_to_recompute(placed, strategy);
  if (std::find(again.begin(), again.end(), true) == again.end()) return;
  Copier(placed, std::move(again)).run();
}

}  // namespace podium::lower
