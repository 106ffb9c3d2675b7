// One walk in order over the ops, so that what stands for a value is known before the value is read. Each op
// reads what stands for its inputs; an op that can reach past the one before it (Transpose of Transpose)
// does; an op whose output equals a value that is there (simplify_rules.cpp) is left out, and later readers
// read that value. An output of the graph keeps its name, and an input of the graph is read where its reader
// is placed, so ops that bring a value to another place stay. Ops move from the graph into the plan.
#include "ir/passes/simplify.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/bodies.h"
#include "ir/passes/inline_branches.h"
#include "ir/passes/simplify_rules.h"

namespace podium::ir {
namespace {

bool simplify_body(Graph& body);

class SimplificationPlanner {
 public:
  /// `ops` are those of the graph.
  SimplificationPlanner(const Graph& graph, std::vector<Op> ops, bool outputs_have_names)
      : ops_(std::move(ops)),
        outputs_have_names_(outputs_have_names),
        view_{graph, plan_.ops, IdMap<ValueId, std::int32_t>(std::ssize(graph.values), -1),
              IdMap<ValueId, bool>(std::ssize(graph.values))},
        is_output_(std::ssize(graph.values)) {
    plan_.stands_for = IdMap<ValueId, ValueId>(std::ssize(graph.values));
    for (ValueId id : graph.value_ids()) plan_.stands_for[id] = id;
    for (ValueId id : graph.inputs) view_.is_input[id] = true;
    for (ValueId id : graph.outputs) is_output_[id] = true;
  }

  Simplification plan() {
    plan_.ops.reserve(ops_.size());
    for (Op& op : ops_) add(std::move(op));
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
  bool brings_elsewhere(const Op& op, ValueId same) {
    if (!view_.is_input[same]) return false;
    if (readers_.empty()) note_readers();
    return std::ranges::any_of(readers_[op.outputs[0]],
                               [&](std::size_t later) { return !in_same_place(ops_[later], op); });
  }
  // Of the ops that are not in the plan yet: the others are empty.
  void note_readers() {
    readers_ = IdMap<ValueId, std::vector<std::size_t>>(view_.producers.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (ValueId id : inputs_of(ops_[i])) readers_[id].push_back(i);
    }
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

  std::vector<Op> ops_;
  bool outputs_have_names_;
  Simplification plan_;
  SimplifyView view_;
  IdMap<ValueId, bool> is_output_;
  IdMap<ValueId, std::vector<std::size_t>> readers_;  // places in ops_; empty until somebody asks
};

bool simplify_graph(Graph& graph, bool outputs_have_names) {
  const bool inlined = !inline_branches(graph).empty();
  std::vector<Op> ops = std::move(graph.ops);
  Simplification plan = SimplificationPlanner(graph, std::move(ops), outputs_have_names).plan();
  graph.ops = std::move(plan.ops);
  for (const auto& [output, by] : plan.renamed) std::swap(graph[by].name, graph[output].name);
  for (ValueId& id : graph.outputs) id = plan.stands_for[id];
  return plan.changed || inlined;
}

bool simplify_body(Graph& body) { return simplify_graph(body, false); }

}  // namespace

bool simplify(Graph& graph) { return simplify_graph(graph, true); }

Simplification plan_simplification(const Graph& graph, bool outputs_have_names) {
  return SimplificationPlanner(graph, graph.ops, outputs_have_names).plan();
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
