// Calls of the model's own functions: their nodes take the place of the calling node.
#include <unordered_set>

#include "importer/attribute_proto.h"
#include "importer/depth.h"
#include "importer/graph_reader.h"
#include "importer/newer_fields.h"
#include "ir/verify.h"

namespace podium::importer {

using ir::ValueId;

// A model's function does not replace an op that Podium knows.
const Function* GraphReader::find_function(const onnx::NodeProto& node) const {
  if (source_.functions.empty()) return nullptr;
  const auto found = source_.functions.find(function_key(node.domain(), node.op_type(), overload_of(node)));
  if (found == source_.functions.end()) return nullptr;
  return ir::find_op(node.domain(), node.op_type()) == nullptr ? &found->second : nullptr;
}

namespace {

void check_arity(const onnx::NodeProto& node, const onnx::FunctionProto& function) {
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    throw Error("{} inputs and {} outputs found, at most {} and {} needed by function '{}'",
                node.input_size(), node.output_size(), function.input_size(), function.output_size(),
                function.name());
  }
}

}  // namespace

void GraphReader::read_call(const onnx::NodeProto& node, const Function& function, const Frame& frame,
                            Scope& scope) {
  check_arity(node, *function.proto);
  for (const Frame* around = &frame; around != nullptr; around = around->caller) {
    if (around->function == &function) throw Error("function '{}' calls itself", function.proto->name());
  }
  const Depth deeper(depth_);
  Frame callee{.opsets = &function.opsets, .function = &function, .caller = &frame};
  callee.prefix = prefix_of_call(node, frame);
  bind_attributes(node, callee, frame, scope);
  Scope inner(scope.graph(), callee.prefix);
  for (int i = 0; i < function.proto->input_size(); ++i) {
    const bool is_given = i < node.input_size() && !node.input(i).empty();
    inner.alias(function.proto->input(i), is_given ? scope.lookup(node.input(i)) : ir::kNoValue);
  }
  const auto known = scope.graph().value_ids();
  read_nodes(function.proto->node(), callee, inner);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const ValueId value = inner.lookup(function.proto->output(i));
    scope.alias(node.output(i), value);
    // A value that the function made gets the name that the caller gives it.
    if (value.valid() && !known.contains(value)) scope.graph()[value].name = scope.full_name(node.output(i));
  }
  if (scope.outer() == nullptr) note_call(node, function, callee, inner);
}

void GraphReader::note_call(const onnx::NodeProto& node, const Function& function, const Frame& callee,
                            Scope& inner) {
  const onnx::FunctionProto& proto = *function.proto;
  ReadCall read{.call = {.function = function_key(proto.domain(), proto.name(), overload_of(proto)),
                         .prefix = callee.prefix}};
  const auto note = [&](const std::string& formal) {
    if (const ValueId value = inner.lookup(formal); value.valid()) read.values.emplace(formal, value);
  };
  for (const std::string& formal : proto.input()) note(formal);
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) note(proto.output(i));
  }
  read_calls_.push_back(std::move(read));
}

std::vector<FunctionCall> GraphReader::calls(const ir::Graph& graph) const {
  std::vector<FunctionCall> calls;
  for (const ReadCall& read : read_calls_) {
    FunctionCall& call = calls.emplace_back(read.call);
    for (const auto& [name, value] : read.values) call.names.emplace(name, graph[value].name);
  }
  return calls;
}

void GraphReader::bind_attributes(const onnx::NodeProto& node, Frame& callee, const Frame& frame,
                                  Scope& scope) {
  for (const auto& proto : callee.function->defaults)
    callee.attributes[proto.name()] = {&proto, &callee, &scope};
  std::unordered_set<std::string_view> names;
  for (const auto& proto : node.attribute()) {
    if (!names.insert(proto.name()).second) throw Error("attribute '{}' is there twice", proto.name());
    const Given given = resolve(proto, frame, scope);
    if (given.proto == nullptr) continue;
    callee.attributes[proto.name()] = given;
    if (ir::is_annotation(proto.name())) {
      callee.annotations.push_back({proto.name(), attribute_from_proto(*given.proto, tensors_, symbols_)});
    }
  }
  for (const ir::Attribute& annotation : frame.annotations) {
    if (!names.contains(annotation.name)) callee.annotations.push_back(annotation);
  }
}

// "layer/" for the first call named layer, "layer:2/" for the second.
std::string GraphReader::prefix_of_call(const onnx::NodeProto& node, const Frame& frame) {
  const std::string base = frame.prefix + shown_name(node);
  const int count = ++calls_[base];
  return count == 1 ? base + "/" : fmt::format("{}:{}/", base, count);
}

}  // namespace podium::importer
