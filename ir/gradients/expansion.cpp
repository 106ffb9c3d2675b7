#include "ir/gradients/expansion.h"

#include <map>

#include "ir/gradients/differentiate.h"
#include "ir/remove_dead.h"

namespace podium::ir {
namespace {

using Ids = std::vector<ValueId>;

// An op in a graph of its own, and the values of the other graph that it takes.
struct Part {
  Graph graph = {};
  Ids taken = {};

  ValueId take(const Graph& from, ValueId id) {
    if (!id.valid()) return kNoValue;
    const ValueId inner = graph.add_value(graph.fresh_name(from[id].name), Type(from[id].type));
    graph[inner].constant = from[id].constant;
    graph.inputs.push_back(inner);
    taken.push_back(id);
    return inner;
  }
};

}  // namespace

Ids append_graph(Builder& builder, const Graph& part, const Ids& inputs) {
  Graph& graph = builder.graph();
  std::map<ValueId, ValueId> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known[part.inputs[i]] = inputs[i];
  const auto outer = [&](ValueId id) {
    if (!id.valid()) return id;
    const auto [found, is_new] = known.try_emplace(id);
    if (is_new && part.is_constant(id)) found->second = builder.constant(*part[id].constant);
    if (is_new && !part.is_constant(id))
      found->second = graph.add_value(graph.fresh_name(part[id].name), Type(part[id].type));
    return found->second;
  };
  for (Op op : part.ops) {
    for (ValueId& id : op.inputs) id = outer(id);
    for (ValueId& id : op.outputs) id = outer(id);
    graph.ops.push_back(std::move(op));
  }
  Ids outputs;
  for (ValueId id : part.outputs) outputs.push_back(outer(id));
  return outputs;
}

Type slice_type(const TermBuilder& builder, ValueId value, std::int64_t axis) {
  IR_CHECK(axis < builder.rank(value), "axis {} of {}", axis, to_string(builder.type(value)));
  Type type = builder.type(value);
  type.dims.erase(type.dims.begin() + axis);
  return type;
}

void differentiate_expansion(GradientContext& context, Expansion expand) {
  const Graph& outer = context.builder.graph();
  Part part;
  Op op = context.op;
  for (ValueId& id : op.inputs) id = part.take(outer, id);
  Ids flowing;
  for (ValueId& id : op.outputs) id = kNoValue;
  for (ValueId id : context.output_gradients) flowing.push_back(part.take(outer, id));
  Builder builder(part.graph);
  GradientContext inner(builder, std::move(op), flowing, context.wanted);
  const Ids outputs = expand(inner);
  std::vector<FlowInto> flows;
  for (std::size_t i = 0; i < flowing.size(); ++i) {
    if (flowing[i].valid()) flows.push_back({outputs.at(i), flowing[i]});
  }
  std::vector<std::size_t> wanted;
  Ids xs;
  for (std::size_t i = 0; i < inner.op.inputs.size(); ++i) {
    if (!context.wants(i)) continue;
    wanted.push_back(i);
    xs.push_back(inner.input(i));
  }
  part.graph.outputs = differentiate(part.graph, flows, xs, {}, {});
  remove_dead(part.graph);
  const Ids gradients = append_graph(context.builder, part.graph, part.taken);
  for (std::size_t i = 0; i < wanted.size(); ++i) context.set(wanted[i], gradients[i]);
}

}  // namespace podium::ir
