#include "executor/lower/program/gather_in_turn.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "executor/lower/program/split_collectives.h"

namespace podium::lower {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::ValueId;

namespace {

// The gathers of what the block is given in parts, by the whole tensor. What others than its ops read stays.
std::map<ValueId, Op> gathers_of_inputs(const Graph& graph) {
  const std::set<ValueId> given(graph.inputs.begin(), graph.inputs.end());
  std::map<ValueId, Op> gathers;
  for (const Op& op : graph.ops) {
    const bool gathers_given = is_collective(op) && given.contains(op.inputs[0]) &&
                               collective_of(op).kind == executor::CollectiveKind::AllGather;
    if (gathers_given) gathers.emplace(op.outputs[0], op);
  }
  for (ValueId id : graph.outputs) gathers.erase(id);
  return gathers;
}

class Gatherer {
 public:
  Gatherer(Graph& graph, std::map<ValueId, Op> gathers) : graph_(graph), gathers_(std::move(gathers)) {
    for (const auto& [whole, op] : gathers_) most_ = std::max(most_, bytes(whole));
  }

  IdMap<OpId, int> run() {
    for (Op& op : std::exchange(graph_.ops, {})) {
      if (!op.outputs.empty() && gathers_.contains(op.outputs[0])) continue;
      for (ValueId& id : op.inputs) {
        if (id.valid() && gathers_.contains(id)) id = gathered(id);
      }
      append(std::move(op), rounds_);
    }
    return std::move(exchanges_before_);
  }

 private:
  std::int64_t bytes(ValueId id) const { return ir::packed_bytes(graph_[id].type); }

  // The whole tensor as ops from here on read it.
  ValueId gathered(ValueId whole) {
    if (const auto found = held_.find(whole); found != held_.end()) return found->second;
    if (rounds_ == 0 || held_bytes_ + bytes(whole) > most_) {
      held_.clear();
      held_bytes_ = 0;
      ++rounds_;
    }
    held_bytes_ += bytes(whole);
    Op op = gathers_.at(whole);
    if (!read_.insert(whole).second) {
      const ir::Type type = graph_[whole].type;
      op.outputs[0] = graph_.add_value(graph_.fresh_name(graph_[whole].name), type);
    }
    const ValueId result = op.outputs[0];
    append(std::move(op), rounds_ - 1);
    return held_[whole] = result;
  }
  void append(Op op, int exchanges_before) {
    graph_.ops.push_back(std::move(op));
    exchanges_before_.push_back(exchanges_before);
  }

  Graph& graph_;
  const std::map<ValueId, Op> gathers_;
  std::int64_t most_ = 0;
  IdMap<OpId, int> exchanges_before_;
  int rounds_ = 0;
  std::map<ValueId, ValueId> held_;  ///< whole tensors of the last round
  std::int64_t held_bytes_ = 0;
  std::set<ValueId> read_;
};

}  // namespace

IdMap<OpId, int> gather_in_turn(Graph& graph) { return Gatherer(graph, gathers_of_inputs(graph)).run(); }

}  // namespace podium::lower
