// A recipe is a model's parameters as words; a Net builds a graph by them. Weights are drawn by SplitMix64
// from seed and name, uniformly with a limit of sqrt(gain / fan in), so that the same model has the same
// bytes on every machine; with weights=none they are shapes only. Bodies of control flow are drafted in the
// outer graph, taken out of it, and get what they read from outside as captures.
#include "models/recipe.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "ir/error.h"
#include "ir/nearest.h"
#include "ir/number_text.h"

namespace podium::models {

using ir::DataType;
using ir::Dims;
using ir::Tensor;
using ir::ValueId;

namespace {

// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014): the standard
// library's distributions differ between implementations, and a model's bytes must not.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

template <class T>
void fill_uniform(Tensor& tensor, double limit, std::uint64_t state) {
  for (T& element : tensor.values<T>()) {
    const double unit = static_cast<double>(next_random(state) >> 11) * 0x1p-53;
    element = T(static_cast<float>((2 * unit - 1) * limit));
  }
}

const std::vector<ParameterSpec>& common_parameters() {
  static const std::vector<ParameterSpec> kCommon{
      {"seed", "0", "of the weights"},
      {"weights", "seeded", "seeded, or none for shapes only"},
      {"type", "float", "float or float16"},
      {"form", "ops", "ops: LayerNormalization and Gelu as one op; primitive: as PyTorch decomposes them"},
      {"loss", "none", "none or cross-entropy"},
  };
  return kCommon;
}

std::int64_t parsed(std::string_view model, std::string_view name, const std::string& text,
                    std::int64_t least) {
  if (const auto value = ir::number_of(text, least, std::int64_t{1} << 31)) return *value;
  throw Error("model {}: parameter {}: '{}' found, a whole number of at least {} needed", model, name, text,
              least);
}

}  // namespace

Recipe::Recipe(const ModelSpec& spec, const Parameters& given) : model_(spec.name) {
  for (const auto* list : {&common_parameters(), &spec.parameters}) {
    for (const ParameterSpec& parameter : *list) values_[std::string(parameter.name)] = parameter.fallback;
  }
  for (const auto& [name, value] : given) {
    if (!values_.contains(name)) {
      std::vector<std::string_view> known;
      for (const auto& entry : values_) known.push_back(entry.first);
      throw Error("model {} has no parameter '{}', the nearest is '{}'", model_, name,
                  ir::nearest(name, known));
    }
    values_[name] = value;
  }
}

std::int64_t Recipe::number(std::string_view name) const { return parsed(model_, name, word(name), 1); }
std::int64_t Recipe::count(std::string_view name) const { return parsed(model_, name, word(name), 0); }

double Recipe::share(std::string_view name) const {
  const auto value = ir::number_of<double>(word(name));
  if (value && *value >= 0 && *value < 1) return *value;
  throw Error("model {}, parameter {}: '{}' found, a number in [0, 1) needed", model_, name, word(name));
}

const std::string& Recipe::word(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  IR_CHECK(found != values_.end(), "parameter {} of {}", name, model_);
  return found->second;
}

bool Recipe::is_dynamic() const {
  const auto shapes = values_.find("shapes");
  if (shapes == values_.end() || shapes->second == "static") return false;
  if (shapes->second == "dynamic") return true;
  throw Error("parameter shapes: '{}' found, static or dynamic needed", shapes->second);
}

ParameterSpec shapes_parameter(std::string_view open) { return {"shapes", "static", open}; }

Net::Net(const Recipe& recipe)
    : recipe_(recipe),
      seed_(static_cast<std::uint64_t>(recipe.count("seed"))),
      with_data_(recipe.is("weights", "seeded")),
      primitive_(recipe.is("form", "primitive")),
      type_(ir::data_type_named(recipe.word("type"))) {
  if (!with_data_ && !recipe.is("weights", "none")) {
    throw Error("parameter weights: '{}' found, seeded or none needed", recipe.word("weights"));
  }
  if (!primitive_ && !recipe.is("form", "ops")) {
    throw Error("parameter form: '{}' found, ops or primitive needed", recipe.word("form"));
  }
  if (type_ != DataType::Float && type_ != DataType::Float16) {
    throw Error("parameter type: '{}' found, float or float16 needed", recipe.word("type"));
  }
}

ValueId Net::input(std::string name, DataType type, Dims dims, std::vector<std::string> symbols) {
  if (recipe_.is_dynamic() && !symbols.empty()) {
    symbols.resize(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!symbols[i].empty()) dims[i] = ir::kUnknown;
    }
    symbolic_[name] = std::move(symbols);
  }
  return builder_.input(std::move(name),
                        ir::Type::tensor(type == DataType::Float ? type_ : type, std::move(dims)));
}

ValueId Net::weight(const std::string& name, Dims dims, double fan_in, double gain) {
  if (!with_data_) return shape_only(name, std::move(dims));
  Tensor tensor(type_, std::move(dims));
  const double limit = std::sqrt(gain / fan_in);
  const std::uint64_t state = seed_ * 0x9E3779B97F4A7C15U + hash_of(name);
  if (type_ == DataType::Float) {
    fill_uniform<float>(tensor, limit, state);
  } else {
    fill_uniform<ir::Float16>(tensor, limit, state);
  }
  return graph_.add_constant(name, std::move(tensor));
}

ValueId Net::shape_only(const std::string& name, Dims dims) {
  const ValueId id = graph_.add_value(name, ir::Type::tensor(type_, std::move(dims)));
  graph_[id].data_left_out = true;
  return id;
}

ValueId Net::filled(const std::string& name, Dims dims, float value) {
  if (!with_data_) return shape_only(name, std::move(dims));
  Tensor tensor(type_, std::move(dims));
  if (type_ == DataType::Float) {
    for (float& element : tensor.values<float>()) element = value;
  } else {
    for (ir::Float16& element : tensor.values<ir::Float16>()) element = ir::Float16(value);
  }
  return graph_.add_constant(name, std::move(tensor));
}

ValueId Net::scalar(float value) {
  return builder_.constant(type_ == DataType::Float ? Tensor::scalar(value)
                                                    : Tensor::scalar(ir::Float16(value)));
}

ValueId Net::ints(const std::vector<std::int64_t>& values) { return builder_.constant(Tensor::ints(values)); }
ValueId Net::constant(Tensor tensor) { return builder_.constant(std::move(tensor)); }

ValueId Net::op(const std::string& name, std::string_view type, std::vector<ValueId> inputs,
                std::vector<ir::Attribute> attributes) {
  return ops(name, type, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ValueId> Net::ops(const std::string& name, std::string_view type, std::vector<ValueId> inputs,
                              std::size_t outputs, std::vector<ir::Attribute> attributes) {
  auto results = builder_.ops("", type, std::move(inputs), outputs, std::move(attributes));
  name_last_op(name);
  return results;
}

void Net::name_last_op(const std::string& name) {
  ir::Op& op = graph_.ops.back();
  op.name = name;
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    graph_[op.outputs[i]].name = fmt::format("{}_output_{}", name, i);
}

BodyDraft Net::body(std::string attribute, const std::vector<ir::Type>& inputs, const BuildBody& build) {
  BodyDraft draft{.attribute = std::move(attribute), .inputs = {}, .ops = {}, .outputs = {}};
  for (const ir::Type& type : inputs) {
    draft.inputs.push_back(graph_.add_value(graph_.fresh_name(draft.attribute + "_input"), type));
  }
  const auto first = std::ssize(graph_.ops);
  draft.outputs = build(draft.inputs);
  draft.ops.assign(graph_.ops.begin() + first, graph_.ops.end());
  graph_.ops.erase(graph_.ops.begin() + first, graph_.ops.end());
  return draft;
}

namespace {

std::set<ValueId> defined_in(const BodyDraft& draft) {
  std::set<ValueId> defined(draft.inputs.begin(), draft.inputs.end());
  for (const ir::Op& op : draft.ops) defined.insert(op.outputs.begin(), op.outputs.end());
  return defined;
}

// Outer values that the bodies read, each once, in the order of their first use.
std::vector<ValueId> captured(const std::vector<BodyDraft>& drafts) {
  std::vector<ValueId> captures;
  std::set<ValueId> seen;
  for (const BodyDraft& draft : drafts) {
    const std::set<ValueId> defined = defined_in(draft);
    for (const ir::Op& op : draft.ops) {
      for (ValueId id : op.inputs) {
        if (id.valid() && !defined.contains(id) && seen.insert(id).second) captures.push_back(id);
      }
    }
  }
  return captures;
}

ir::Graph body_graph(const ir::Graph& outer, const BodyDraft& draft, const std::vector<ValueId>& captures) {
  ir::Graph body;
  body.name = draft.attribute;
  std::map<ValueId, ValueId> inner;
  const auto add = [&](ValueId id) {
    if (id.valid() && !inner.contains(id)) inner[id] = body.add_value(outer[id].name, outer[id].type);
    return id.valid() ? inner[id] : ir::kNoValue;
  };
  for (ValueId id : draft.inputs) body.inputs.push_back(add(id));
  for (ValueId id : captures) body.inputs.push_back(add(id));
  for (ir::Op op : draft.ops) {
    for (ValueId& id : op.inputs) id = add(id);
    for (ValueId& id : op.outputs) id = add(id);
    body.ops.push_back(std::move(op));
  }
  for (ValueId id : draft.outputs) body.outputs.push_back(add(id));
  return body;
}

}  // namespace

std::vector<ValueId> Net::control(const std::string& name, std::string_view type, std::vector<ValueId> inputs,
                                  const std::vector<ir::Type>& types, const std::vector<BodyDraft>& bodies) {
  const std::vector<ValueId> captures = captured(bodies);
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  ir::Op op{.spec = ir::find_op("", type),
            .inputs = std::move(inputs),
            .captures = static_cast<int>(captures.size())};
  for (const BodyDraft& draft : bodies) {
    set_attribute(op, draft.attribute,
                  std::make_shared<const ir::Graph>(body_graph(graph_, draft, captures)));
  }
  for (const ir::Type& output : types) op.outputs.push_back(graph_.add_value("", output));
  std::vector<ValueId> results = op.outputs;
  graph_.ops.push_back(std::move(op));
  name_last_op(name);
  return results;
}

void Net::output(ValueId value, const std::string& name) {
  graph_[value].name = name;
  builder_.output(value);
}

void Net::classify(ValueId logits, ClassAxis axis) {
  if (recipe_.is("loss", "none")) return output(logits, "logits");
  const bool classes_last = axis == ClassAxis::Last;
  std::vector<std::string> symbols{"batch", classes_last ? "sequence" : "height", "width"};
  symbols.resize(graph_[logits].type.dims.size() - 1);
  output(cross_entropy(logits, {"loss", "label", symbols}, axis), "loss");
}

ValueId Net::cross_entropy(ValueId logits, const LossNames& names, ClassAxis axis) {
  if (!recipe_.is("loss", "cross-entropy")) {
    throw Error("parameter loss: '{}' found, none or cross-entropy needed", recipe_.word("loss"));
  }
  const bool classes_last = axis == ClassAxis::Last;
  Dims dims = graph_[logits].type.dims;
  dims.erase(dims.begin() + (classes_last ? std::ssize(dims) - 1 : 1));
  const std::int64_t classes = graph_[logits].type.dims.back();
  ValueId label = input(names.label, DataType::Int64, std::move(dims), names.symbols);
  if (classes_last) {
    logits = op(names.loss + "/rows", "Reshape", {logits, ints({-1, classes})});
    label = op(names.loss + "/labels", "Reshape", {label, ints({-1})});
  }
  // Frameworks compute losses in single precision, whatever the model is in.
  if (recipe_.is("type", "float16"))
    logits = op(names.loss + "/Cast", "Cast", {logits}, {{"to", static_cast<std::int64_t>(DataType::Float)}});
  return op(names.loss, "SoftmaxCrossEntropyLoss", {logits, label});
}

ValueId Net::linear(const std::string& name, ValueId x, std::int64_t in, std::int64_t out) {
  const ValueId weights = weight(name + ".weight", {out, in}, static_cast<double>(in));
  const ValueId bias = weight(name + ".bias", {out}, static_cast<double>(in), 1.0);
  return op(name + "/Gemm", "Gemm", {x, weights, bias}, {{"transB", std::int64_t{1}}});
}

ValueId Net::convolution(const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                         std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t group) {
  const auto fan_in = static_cast<double>(in / group * kernel * kernel);
  const ValueId weights = weight(name + ".weight", {out, in / group, kernel, kernel}, fan_in);
  const ValueId bias = weight(name + ".bias", {out}, fan_in, 1.0);
  return op(name + "/Conv", "Conv", {x, weights, bias},
            {{"kernel_shape", ir::IntList{kernel, kernel}},
             {"strides", ir::IntList{stride, stride}},
             {"pads", ir::IntList{pad, pad, pad, pad}},
             {"dilations", ir::IntList{1, 1}},
             {"group", group}});
}

ValueId Net::layer_norm(const std::string& name, ValueId x, std::int64_t size) {
  const ValueId scale = filled(name + ".weight", {size}, 1);
  const ValueId bias = filled(name + ".bias", {size}, 0);
  if (!primitive_) {
    return op(name, "LayerNormalization", {x, scale, bias}, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5F}});
  }
  const ValueId axes = ints({-1});
  const ValueId mean = op(name + "/ReduceMean", "ReduceMean", {x, axes});
  const ValueId centered = op(name + "/Sub", "Sub", {x, mean});
  const ValueId squared = op(name + "/Pow", "Pow", {centered, scalar(2)});
  const ValueId variance = op(name + "/ReduceMean_1", "ReduceMean", {squared, axes});
  const ValueId shifted = op(name + "/Add", "Add", {variance, scalar(1e-5F)});
  const ValueId deviation = op(name + "/Sqrt", "Sqrt", {shifted});
  const ValueId normal = op(name + "/Div", "Div", {centered, deviation});
  return op(name + "/Add_1", "Add", {op(name + "/Mul", "Mul", {normal, scale}), bias});
}

ValueId Net::gelu_erf(const std::string& name, ValueId x) {
  const ValueId scaled = op(name + "/Div", "Div", {x, scalar(1.41421356F)});
  const ValueId shifted = op(name + "/Add", "Add", {op(name + "/Erf", "Erf", {scaled}), scalar(1)});
  return op(name + "/Mul_1", "Mul", {op(name + "/Mul", "Mul", {x, shifted}), scalar(0.5F)});
}

ValueId Net::gelu(const std::string& name, ValueId x) {
  return primitive_ ? gelu_erf(name, x) : op(name, "Gelu", {x});
}

BuiltModel Net::finish(int opset) {
  return {.graph = std::move(graph_), .opset = opset, .symbolic = std::move(symbolic_)};
}

}  // namespace podium::models
