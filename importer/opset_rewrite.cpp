#include "importer/opset_rewrite.h"

#include <algorithm>

#include "ir/nearest.h"
#include "ir/verify.h"

namespace podium::importer {

using ir::Attribute;
using ir::DataType;
using ir::Tensor;
using ir::ValueId;

namespace {

const ir::OpSpec& row(std::string_view domain, std::string_view type) {
  if (const ir::OpSpec* spec = ir::find_op(domain, type)) return *spec;
  std::vector<std::string_view> known;
  for (const ir::OpSpec* spec : ir::all_ops()) known.push_back(spec->name);
  const std::string_view near = ir::nearest_if_near(type, known);
  throw Error("there is no op '{}' in domain '{}'{}", type, domain.empty() ? "ai.onnx" : domain,
              near.empty() ? "" : fmt::format("; the nearest is '{}'", near));
}

}  // namespace

Rewrite::Rewrite(ir::Graph& graph, RawNode node) : graph_(graph), node_(std::move(node)) {
  std::copy_if(node_.attributes.begin(), node_.attributes.end(), std::back_inserter(annotations_),
               [](const Attribute& attribute) { return ir::is_annotation(attribute.name); });
}

bool Rewrite::has(std::string_view name) const {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
}

void Rewrite::drop(std::string_view name) {
  std::erase_if(node_.attributes, [&](const Attribute& attribute) { return attribute.name == name; });
}

void Rewrite::set(std::string_view name, ir::AttributeValue value) {
  drop(name);
  node_.attributes.push_back({std::string(name), std::move(value)});
}

void Rewrite::set_default(std::string_view name, ir::AttributeValue value) {
  if (!has(name)) set(name, std::move(value));
}

void Rewrite::set_input(std::size_t i, ValueId value) {
  if (node_.inputs.size() <= i) node_.inputs.resize(i + 1, ir::kNoValue);
  node_.inputs[i] = value;
}

void Rewrite::ints_to_input(std::string_view attribute, std::size_t i) {
  if (const auto values = take<ir::IntList>(attribute)) set_input(i, ints(*values));
}

ValueId Rewrite::constant(Tensor tensor) {
  return graph_.add_constant(graph_.fresh_name(node_.type), std::move(tensor));
}

ValueId Rewrite::number_like(float value, ValueId like) {
  const ValueId number = constant(Tensor::scalar(value));
  return element_of(like) == DataType::Float ? number : before("CastLike", {number, like});
}

ir::Op Rewrite::op_of(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                      ValueId output) const {
  attributes.insert(attributes.end(), annotations_.begin(), annotations_.end());
  return {.spec = &row("", type),
          .name = node_.name,
          .inputs = std::move(inputs),
          .outputs = {output},
          .attributes = std::move(attributes)};
}

ValueId Rewrite::before(std::string_view type, std::vector<ValueId> inputs,
                        std::vector<Attribute> attributes) {
  const ValueId output = graph_.add_value(graph_.fresh_name(type));
  graph_.ops.push_back(op_of(type, std::move(inputs), std::move(attributes), output));
  return output;
}

ValueId Rewrite::detach_output(std::size_t i) {
  node_.outputs[i] = graph_.add_value(graph_.fresh_name(node_.type));
  return node_.outputs[i];
}

ValueId Rewrite::after(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                       ValueId output) {
  if (!output.valid()) output = graph_.add_value(graph_.fresh_name(type));
  after_.back().push_back(op_of(type, std::move(inputs), std::move(attributes), output));
  return output;
}

void Rewrite::become(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
  node_.type = type;
  node_.inputs = std::move(inputs);
  node_.attributes = std::move(attributes);
  node_.attributes.insert(node_.attributes.end(), annotations_.begin(), annotations_.end());
}

ValueId Rewrite::rank_of(ValueId value) { return before("Shape", {before("Shape", {value})}); }

DataType Rewrite::element_of(ValueId value) const {
  if (!value.valid()) return DataType::Undefined;
  const ir::Type& declared = graph_[value].type;
  return declared.is_tensor() ? declared.element : DataType::Undefined;
}

void Rewrite::finish() {
  graph_.ops.push_back({.spec = &row(node_.domain, node_.type),
                        .name = std::move(node_.name),
                        .inputs = std::move(node_.inputs),
                        .outputs = std::move(node_.outputs),
                        .attributes = std::move(node_.attributes),
                        .captures = node_.captures});
  for (auto adapter = after_.rbegin(); adapter != after_.rend(); ++adapter) {
    std::move(adapter->begin(), adapter->end(), std::back_inserter(graph_.ops));
  }
}

}  // namespace podium::importer
