#include "importer/graph_reader.h"

#include <algorithm>

#include "importer/opset.h"
#include "importer/tensor_proto.h"
#include "importer/type_proto.h"

namespace podium::importer {

using ir::ValueId;

ValueId GraphReader::define(const std::string& name) {
  const ValueId id = graph_.add_value(name);
  if (!names_.emplace(name, id).second) throw Error("value '{}' is defined twice", name);
  return id;
}

ValueId GraphReader::lookup(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (outer_ == nullptr) throw Error("value '{}' is read but nothing produces it", name);
  const ValueId outer = outer_->lookup(name);
  const ValueId inner = define(name);
  captures_.push_back({outer, inner});
  return inner;
}

void GraphReader::read_inputs(const onnx::GraphProto& proto) {
  std::unordered_map<std::string, const onnx::TensorProto*> initializers;
  for (const auto& tensor : proto.initializer()) initializers.emplace(tensor.name(), &tensor);
  for (const auto& input : proto.input()) {
    const auto fed = context_.options.input_types.find(input.name());
    const bool is_outermost = outer_ == nullptr;
    if (initializers.contains(input.name()) && !(is_outermost && fed != context_.options.input_types.end()))
      continue;
    const ValueId id = define(input.name());
    graph_[id].type = type_from_proto(input.type(), context_.options.dims);
    if (is_outermost && fed != context_.options.input_types.end()) graph_[id].type = fed->second;
    graph_.inputs.push_back(id);
  }
  for (const auto& tensor : proto.initializer()) {
    if (names_.contains(tensor.name())) continue;
    const ValueId id = define(tensor.name());
    graph_[id].constant = context_.tensors.read(tensor);
    graph_[id].type = graph_[id].constant->type_and_dims();
  }
}

void GraphReader::read(const onnx::GraphProto& proto) {
  graph_.name = proto.name();
  read_inputs(proto);
  for (const auto& node : proto.node()) read_node(node);
  for (const auto& output : proto.output()) graph_.outputs.push_back(lookup(output.name()));
}

ir::AttributeValue GraphReader::read_attribute(const onnx::AttributeProto& proto,
                                               std::vector<GraphReader>& bodies) {
  const auto body = [&](const onnx::GraphProto& graph) {
    bodies.emplace_back(context_, this).read(graph);
    return ir::Body();  // filled in by read_node when the captures of all bodies are known
  };
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      return proto.i();
    case onnx::AttributeProto::FLOAT:
      return proto.f();
    case onnx::AttributeProto::STRING:
      return proto.s();
    case onnx::AttributeProto::TENSOR:
      return context_.tensors.read(proto.t());
    case onnx::AttributeProto::TYPE_PROTO:
      return type_from_proto(proto.tp(), context_.options.dims);
    case onnx::AttributeProto::GRAPH:
      return body(proto.g());
    case onnx::AttributeProto::INTS:
      return ir::IntList(proto.ints().begin(), proto.ints().end());
    case onnx::AttributeProto::FLOATS:
      return ir::FloatList(proto.floats().begin(), proto.floats().end());
    case onnx::AttributeProto::STRINGS:
      return ir::StringList(proto.strings().begin(), proto.strings().end());
    case onnx::AttributeProto::TENSORS: {
      std::vector<ir::Tensor> tensors;
      for (const auto& tensor : proto.tensors()) tensors.push_back(context_.tensors.read(tensor));
      return tensors;
    }
    default:
      throw Error("attribute '{}' has a kind that is not read", proto.name());
  }
}

void GraphReader::read_node(const onnx::NodeProto& node) {
  RawNode op{
      .domain = node.domain() == "ai.onnx" ? "" : node.domain(), .type = node.op_type(), .name = node.name()};
  std::vector<GraphReader> bodies;
  bodies.reserve(static_cast<std::size_t>(node.attribute_size()));
  for (const auto& proto : node.attribute()) {
    op.attributes.push_back({proto.name(), read_attribute(proto, bodies)});
  }
  for (const auto& name : node.input()) op.inputs.push_back(name.empty() ? ir::kNoValue : lookup(name));
  while (!op.inputs.empty() && !op.inputs.back().valid()) op.inputs.pop_back();

  std::vector<ValueId> captured;
  for (const GraphReader& body : bodies) {
    for (const Capture& capture : body.captures_) {
      if (std::find(captured.begin(), captured.end(), capture.outer) == captured.end()) {
        captured.push_back(capture.outer);
      }
    }
  }
  std::size_t next_body = 0;
  for (ir::Attribute& attribute : op.attributes) {
    if (!std::holds_alternative<ir::Body>(attribute.value)) continue;
    GraphReader& body = bodies[next_body++];
    for (ValueId outer : captured) {
      const auto found = std::find_if(body.captures_.begin(), body.captures_.end(),
                                      [&](const Capture& capture) { return capture.outer == outer; });
      const bool reads_it = found != body.captures_.end();
      body.graph_.inputs.push_back(reads_it ? found->inner
                                            : body.graph_.add_value(graph_[outer].name + ":unused"));
    }
    attribute.value = std::make_shared<const ir::Graph>(body.take());
  }
  op.inputs.insert(op.inputs.end(), captured.begin(), captured.end());
  op.captures = static_cast<int>(captured.size());
  for (const auto& name : node.output()) op.outputs.push_back(name.empty() ? ir::kNoValue : define(name));
  const auto opset = context_.opsets.find(op.domain);
  AdaptContext adapt{.graph = graph_, .version = opset == context_.opsets.end() ? 1 : opset->second};
  append_adapted(adapt, std::move(op));
}

}  // namespace podium::importer
