#include "ir/builder.h"

#include "ir/infer.h"
#include "ir/infer_bodies.h"

namespace podium::ir {

ValueId Builder::input(std::string name, Type type) {
  const ValueId id = graph_.add_value(std::move(name), std::move(type));
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::constant(Tensor tensor, std::string_view name) {
  return graph_.add_constant(graph_.fresh_name(name), std::move(tensor));
}

ValueId Builder::op(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
  return ops("", type, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ValueId> Builder::ops(std::string_view domain, std::string_view type, std::vector<ValueId> inputs,
                                  std::size_t outputs, std::vector<Attribute> attributes) {
  const OpSpec* spec = find_op(domain, type);
  if (spec == nullptr) throw Error("there is no op '{}' in domain '{}'", type, domain);
  Op op{.spec = spec, .inputs = std::move(inputs), .attributes = std::move(attributes)};
  for (std::size_t i = 0; i < outputs; ++i) op.outputs.push_back(graph_.add_value(graph_.fresh_name(type)));
  InferContext context(graph_, op);
  spec->infer(context);
  bool is_known = context.known_outputs.size() == outputs;
  for (std::size_t i = 0; i < outputs; ++i) {
    graph_[op.outputs[i]].type = std::move(context.output_types[i]);
    is_known = is_known && context.known_outputs[i].has_value();
  }
  std::vector<ValueId> results = op.outputs;
  if (is_known) {
    for (std::size_t i = 0; i < outputs; ++i)
      graph_[results[i]].constant = std::move(context.known_outputs[i]);
  } else {
    graph_.ops.push_back(std::move(op));
  }
  return results;
}

std::vector<ValueId> Builder::append(Op op, std::size_t outputs) {
  for (std::size_t i = 0; i < outputs; ++i)
    op.outputs.push_back(graph_.add_value(graph_.fresh_name(op.spec->name)));
  infer_with_bodies(graph_, op);
  std::vector<ValueId> results = op.outputs;
  graph_.ops.push_back(std::move(op));
  return results;
}

void Builder::infer_again(OpId id) {
  Op op = std::move(graph_[id]);
  infer_with_bodies(graph_, op);
  graph_[id] = std::move(op);
}

void Builder::output(ValueId value) { graph_.outputs.push_back(value); }

}  // namespace podium::ir
