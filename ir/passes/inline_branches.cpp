#include "ir/passes/inline_branches.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/verify.h"

namespace podium::ir {
namespace {

// nullptr: the condition is not known, or is none, which infer refuses.
Body taken_branch(const Graph& graph, const Op& op) {
  if (!op.is("If") || !graph.is_constant(op.inputs[0])) return nullptr;
  const Tensor& condition = *graph[op.inputs[0]].constant;
  if (condition.type() != DataType::Bool || condition.size() != 1) return nullptr;
  return attribute<Body>(op, *condition.data<bool>() ? "then_branch" : "else_branch");
}

// Ops from inside an op stay where that op was placed.
void annotate_like(const Op& outer, Op& op) {
  for (const Attribute& attribute : outer.attributes) {
    if (is_annotation(attribute.name)) set_attribute(op, attribute.name, attribute.value);
  }
}

// Per value of a body the value of the graph: what the op captures, or a new one.
IdMap<ValueId, ValueId> values_outside(Graph& graph, const Op& op, const Graph& body) {
  IdMap<ValueId, ValueId> outside(std::ssize(body.values));
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    outside[body.inputs[i]] = op.inputs[op.formal_inputs() + i];
  for (ValueId id : body.value_ids()) {
    if (outside[id].valid()) continue;
    outside[id] = ValueId{static_cast<std::int32_t>(graph.values.size())};
    graph.values.push_back(body[id]);
  }
  return outside;
}

// The ops of a branch with the graph's values, then an Identity for each output of the If.
std::vector<Op> moved_out(Graph& graph, const Op& op, const Graph& body) {
  const IdMap<ValueId, ValueId> outside = values_outside(graph, op, body);
  const auto move_all = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = outside[id];
    }
  };
  std::vector<Op> ops = body.ops;
  for (Op& inner : ops) {
    move_all(inner.inputs);
    move_all(inner.outputs);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    ops.push_back(
        {.spec = find_op("", "Identity"), .inputs = {outside[body.outputs[i]]}, .outputs = {op.outputs[i]}});
  }
  for (Op& inner : ops) annotate_like(op, inner);
  return ops;
}

// Appends the op, or what it becomes.
void append_inlined(Graph& graph, Op op) {
  if (const Body branch = taken_branch(graph, op)) {
    for (Op& inner : moved_out(graph, op, *branch)) append_inlined(graph, std::move(inner));
  } else {
    graph.ops.push_back(std::move(op));
  }
}

}  // namespace

std::vector<OpId> inline_branches(Graph& graph) {
  const auto is_known = [&](const Op& op) { return taken_branch(graph, op) != nullptr; };
  if (std::ranges::none_of(graph.ops, is_known)) return {};
  std::vector<OpId> origins;
  std::vector<Op> former = std::exchange(graph.ops, {});
  for (std::size_t i = 0; i < former.size(); ++i) {
    append_inlined(graph, std::move(former[i]));
    origins.resize(graph.ops.size(), OpId{static_cast<std::int32_t>(i)});
  }
  return origins;
}

}  // namespace podium::ir
