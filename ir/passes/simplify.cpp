// One walk in order over the ops, so that what stands for a value is known before the value is read. Each op
// reads what stands for its inputs; an op that can reach past the one before it (Transpose of Transpose)
// does; an op whose output equals a value that is there (simplify_rules.cpp) is left out, and later readers
// read that value. An output of the graph keeps its name, and an input of the graph is read where its reader
// is placed, so ops that bring a value to another place stay. The plan is applied when it is whole.
#include "ir/passes/simplify.h"

#include <algorithm>

#include "ir/bodies.h"
#include "ir/passes/inline_branches.h"
#include "ir/passes/simplify_rules.h"

namespace podium::ir {
namespace {

bool simplify_graph(Graph& graph, bool outputs_have_names) {
  const bool inlined = !inline_branches(graph).empty();
  Simplification plan = plan_simplification(graph, outputs_have_names);
  graph.ops = std::move(plan.ops);
  for (const auto& [output, by] : plan.renamed) std::swap(graph[by].name, graph[output].name);
  for (ValueId& id : graph.outputs) id = plan.stands_for[id];
  return plan.changed || inlined;
}

bool simplify_body(Graph& body) { return simplify_graph(body, false); }

class SimplificationPlanner {
 public:
  SimplificationPlanner(const Graph& graph, bool outputs_have_names)
      : graph_(graph),
        outputs_have_names_(outputs_have_names),
        view_{graph, plan_.ops, IdMap<ValueId, std::int32_t>(std::ssize(graph.values), -1),
              IdMap<ValueId, bool>(std::ssize(graph.values))},
        is_output_(std::ssize(graph.values)),
        readers_(consumers(graph)) {
    plan_.stands_for = IdMap<ValueId, ValueId>(std::ssize(graph.values));
    for (ValueId id : graph.value_ids()) plan_.stands_for[id] = id;
    for (ValueId id : graph.inputs) view_.is_input[id] = true;
    for (ValueId id : graph.outputs) is_output_[id] = true;
  }

  Simplification plan() {
    plan_.ops.reserve(graph_.ops.size());
    for (const Op& op : graph_.ops) add(op);
    return std::move(plan_);
  }

 private:
  void add(Op op) {
    for (ValueId& id : op.inputs) {
      if (id.valid()) id = plan_.stands_for[id];
    }
    if (has_body(op)) plan_.changed |= edit_bodies(op, simplify_body);
    plan_.changed |= shorten(view_, op);
    const ValueId same = same_value(view_, op);
    if (same.valid() && !brings_elsewhere(op, same) && replace(op.outputs[0], same)) return;
    for (ValueId id : outputs_of(op)) view_.producers[id] = plan_.ops.size();
    plan_.ops.push_back(std::move(op));
  }

  // An input of the graph arrives at one place. Readers elsewhere get it through this op, so the op must
  // stay.
  bool brings_elsewhere(const Op& op, ValueId same) const {
    const std::vector<OpId>& readers = readers_[op.outputs[0]];
    return view_.is_input[same] && std::any_of(readers.begin(), readers.end(),
                                               [&](OpId later) { return !in_same_place(graph_[later], op); });
  }

  // False when the graph would lose an output's name.
  bool replace(ValueId output, ValueId by) {
    if (is_output_[output] && outputs_have_names_) {
      if (view_.is_input[by] || is_output_[by]) return false;
      plan_.renamed.emplace_back(output, by);
    }
    if (is_output_[output]) is_output_[by] = true;
    plan_.stands_for[output] = by;
    return plan_.changed = true;
  }

  const Graph& graph_;
  bool outputs_have_names_;
  Simplification plan_;
  SimplifyView view_;
  IdMap<ValueId, bool> is_output_;
  IdMap<ValueId, std::vector<OpId>> readers_;
};

}  // namespace

bool simplify(Graph& graph) { return simplify_graph(graph, true); }

Simplification plan_simplification(const Graph& graph, bool outputs_have_names) {
  return SimplificationPlanner(graph, outputs_have_names).plan();
}

std::string print(const Simplification& plan, const Graph& graph) {
  std::string text;
  for (ValueId id : graph.value_ids()) {
    const ValueId by = plan.stands_for[id];
    if (by != id) text += fmt::format("{} is {}\n", graph[id].name, graph[by].name);
  }
  for (const Op& op : plan.ops) text += fmt::format("{} stays\n", op.spec->name);
  return text;
}

}  // namespace podium::ir
