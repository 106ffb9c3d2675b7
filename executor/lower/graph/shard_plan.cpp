// Values of one shape that ops compute with element by element are a family: all of them are parts, or none.
// Families are found by joining the inputs and the output of each such op of the update, and of those that
// add to an accumulator in parts:
//
//   m_next = Mul(m, keep) + g      family {m, m_next, g, ...}: m is sharded, so all of it is
//   norm = ReduceSumSquare(g)      a sum over parts
//   g (reduced over replicas)      scattered: reduced into parts, where nobody of the update reads it whole
//
// A family is in parts where one of its members is a sharded variable, or becomes one.
#include "executor/lower/graph/shard_plan.h"

#include <algorithm>

#include "ir/disjoint_sets.h"
#include "ir/passes/sample_axis.h"

namespace podium::lower {

using ir::Op;
using ir::OpId;
using ir::ValueId;

namespace {

class Families {
 public:
  /// `accumulated`: sharded accumulators.
  Families(const PlacedGraph& placed, std::set<ValueId> accumulated)
      : placed_(placed),
        graph_(placed.graph()),
        accumulated_(std::move(accumulated)),
        sets_(graph_.values.size()) {
    for (OpId op : graph_.op_ids()) join(op);
  }

  /// Of the update, or adding to an accumulator of which each replica has a part.
  bool computes_by_element(OpId id) const {
    const Op& op = graph_[id];
    if (!ir::is_elementwise(op) || op.spec->random || op.outputs.size() != 1) return false;
    const ir::Type& type = graph_[op.outputs[0]].type;
    if (!type.is_static() || type.element_count() < 2) return false;
    const bool accumulates = std::any_of(op.inputs.begin(), op.inputs.end(),
                                         [&](ValueId input) { return accumulated_.contains(input); });
    if (!placed_.is_outer(id) && !accumulates) return false;
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId input) {
      return input.valid() && (graph_[input].type.dims == type.dims || is_number(graph_, input));
    });
  }

  /// A member makes its family one in parts.
  void mark(ValueId member, const ShardDomain& domain) {
    const auto [found, is_new] = domains_.try_emplace(sets_.find(member.index), domain);
    if (found->second == domain) return;
    throw Error(
        "variable '{}': sharded over a group of replicas, another one is needed as what it is updated with "
        "has",
        graph_[member].name);
  }
  /// The domain of a value whose family is in parts, else nullptr.
  const ShardDomain* domain(ValueId member) {
    const auto found = domains_.find(sets_.find(member.index));
    return found == domains_.end() ? nullptr : &found->second;
  }

 private:
  // What is added to an accumulator may be read whole elsewhere: it is scattered for it, and no member.
  void join(OpId id) {
    if (!computes_by_element(id)) return;
    const Op& op = graph_[id];
    if (!placed_.is_outer(id)) accumulated_.insert(op.outputs[0]);
    for (ValueId input : op.inputs) {
      if (is_number(graph_, input) || graph_.is_constant(input)) continue;
      if (placed_.is_outer(id) || accumulated_.contains(input)) {
        sets_.join(input.index, op.outputs[0].index);
      }
    }
  }

  const PlacedGraph& placed_;
  const ir::Graph& graph_;
  std::set<ValueId> accumulated_;  ///< and what adds to them
  ir::DisjointSets sets_;
  std::map<std::size_t, ShardDomain> domains_;
};

// Variables that micro-batches add to.
std::set<ValueId> accumulated_variables(const ir::Training& training) {
  std::set<ValueId> accumulated;
  for (const ir::Update& update : training.updates) {
    if (!update.outer) accumulated.insert(update.variable);
  }
  return accumulated;
}

void find_variables(const PlacedGraph& placed, const std::set<ValueId>& accumulated,
                    const std::map<std::string, ir::TensorLocation>& locations, ShardPlan& plan) {
  const ir::Training& training = placed.training;
  const ir::Graph& graph = placed.graph();
  for (const ir::Variable& variable : training.variables) {
    const ValueId value = variable.value;
    const ir::TensorLocation& location = locations.at(graph[value].name);
    if (!location.sharded) continue;
    const std::string& weight = graph[variable.weight.valid() ? variable.weight : value].name;
    plan.variables.emplace(value,
                           ShardDomain{location.domain, !placed.placement.variable_groups.contains(weight)});
    const bool is_state = variable.kind == ir::VariableKind::OptimizerState;
    if (accumulated.contains(value) && is_state && !training.reduces_by_mean) {
      plan.velocities.insert(value);
    }
  }
}

// Which ops compute on parts; what is reduced and read by those alone is scattered.
void decide(const PlacedGraph& placed, Families& families, ShardPlan& plan) {
  const ir::Graph& graph = placed.graph();
  std::set<ValueId> read_whole;
  for (OpId id : graph.op_ids()) {
    const Op& op = graph[id];
    if (families.computes_by_element(id) && families.domain(op.outputs[0]) != nullptr) {
      plan.on_parts.emplace(op.outputs[0], *families.domain(op.outputs[0]));
    } else if (placed.is_outer(id) && !adds_up_to_a_number(graph, op)) {
      read_whole.insert(op.inputs.begin(), op.inputs.end());
    }
  }
  for (ValueId id : placed.training.reduced) {
    if (families.domain(id) == nullptr || read_whole.contains(id)) continue;
    plan.reduced_in_parts.insert(id);
    if (!plan.variables.contains(id)) plan.scattered.emplace(id, *families.domain(id));
  }
  for (OpId id : graph.op_ids()) {
    const Op& op = graph[id];
    if (!placed.is_outer(id) || !adds_up_to_a_number(graph, op)) continue;
    for (const auto* parts : {&plan.variables, &plan.scattered, &plan.on_parts}) {
      const auto found = parts->find(op.inputs[0]);
      if (found != parts->end()) plan.sums.emplace(op.outputs[0], found->second);
    }
  }
}

}  // namespace

bool adds_up_to_a_number(const ir::Graph& graph, const Op& op) {
  const bool adds_up = op.is("ReduceSumSquare") || op.is("ReduceSum") || op.is("ReduceL1");
  return adds_up && graph[op.outputs[0]].type.dims.empty();
}

bool is_number(const ir::Graph& graph, ValueId value) {
  const ir::Type& type = graph[value].type;
  return type.is_static() && type.element_count() == 1 && type.dims.size() < 2;
}

ShardPlan plan_shards(const PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations) {
  ShardPlan plan;
  const std::set<ValueId> all_accumulated = accumulated_variables(placed.training);
  find_variables(placed, all_accumulated, locations, plan);
  if (plan.variables.empty()) return plan;
  std::set<ValueId> accumulated;
  for (const auto& [variable, domain] : plan.variables) {
    if (all_accumulated.contains(variable)) accumulated.insert(variable);
  }
  Families families(placed, std::move(accumulated));
  for (const auto& [variable, domain] : plan.variables) families.mark(variable, domain);
  for (const ir::Update& update : placed.training.updates) {
    const auto found = plan.variables.find(update.variable);
    if (found != plan.variables.end()) plan.outputs.emplace(update.output, found->second);
  }
  for (const auto& [output, domain] : plan.outputs) families.mark(placed.graph().outputs[output], domain);
  decide(placed, families, plan);
  return plan;
}

std::string print(const ir::Graph& graph, const ShardPlan& plan) {
  std::string text;
  const auto add = [&](std::string_view what, const auto& values, const auto& id_of) {
    std::string names;
    for (const auto& value : values) names += (names.empty() ? "" : ", ") + graph[id_of(value)].name;
    if (!names.empty()) text += fmt::format("{}: {}\n", what, names);
  };
  const auto key = [](const auto& entry) { return entry.first; };
  const auto self = [](ValueId id) { return id; };
  add("variables", plan.variables, key);
  add("on parts", plan.on_parts, key);
  add("sums over parts", plan.sums, key);
  add("scattered", plan.scattered, key);
  add("reduced in parts", plan.reduced_in_parts, self);
  add("velocities", plan.velocities, self);
  return text;
}

}  // namespace podium::lower
