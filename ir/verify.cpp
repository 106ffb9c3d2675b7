// Form: counts of inputs and outputs against the row, no gaps in lists, attributes known, of their kind, and
// there if required. Types: inputs that share a letter in the row share an element type. Graph: every value
// is produced once, before it is read, and bodies have as many inputs as the op captures at least.
#include "ir/verify.h"

#include <algorithm>
#include <array>

namespace podium::ir {
namespace {

void check_count(const char* what, const std::vector<Parameter>& formal, const std::vector<ValueId>& actual,
                 std::size_t count) {
  const bool variadic = !formal.empty() && formal.back().formal == Formal::Variadic;
  if (!variadic && count > formal.size())
    throw Error("{} {}s found, at most {} needed", count, what, formal.size());
  for (std::size_t i = 0; i < formal.size(); ++i) {
    if (formal[i].formal != Formal::Required) continue;
    if (i >= count || !actual[i].valid()) throw Error("{} '{}' is missing", what, formal[i].name);
  }
}

// In a list of inputs none may be left out, and a list that is all of an op's inputs has at least one; in a
// list of outputs each may be left out.
void check_no_gap(const Op& op) {
  const std::vector<Parameter>& formal = op.spec->inputs;
  if (formal.empty() || formal.back().formal != Formal::Variadic) return;
  if (formal.size() == 1 && op.formal_inputs() == 0) throw Error("input '{}' is missing", formal.back().name);
  for (std::size_t i = formal.size() - 1; i < op.formal_inputs(); ++i) {
    if (!op.inputs[i].valid()) throw Error("input '{}' is missing at place {}", formal.back().name, i);
  }
}

std::string list(TypeSet types) {
  std::string text;
  for (int i = 1; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    if (types.contains(type)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(type));
  }
  return text;
}

bool is_of_another_op(const Op& op, std::string_view name) {
  return op.spec->domain == "podium" && name.starts_with(kOfAnotherOp);
}

}  // namespace

bool is_annotation(std::string_view name) {
  return name.starts_with("__") || name == "virtualGraph" || name == "pipelineStage" ||
         name == "executionPhase";
}

void check_form(const Op& op) {
  check_count("input", op.spec->inputs, op.inputs, op.formal_inputs());
  check_no_gap(op);
  check_count("output", op.spec->outputs, op.outputs, op.outputs.size());
  for (const Attribute& given : op.attributes) {
    if (is_annotation(given.name)) continue;
    const AttributeSpec* spec = op.spec->find_attribute(given.name);
    if (spec == nullptr && is_of_another_op(op, given.name)) continue;
    if (spec == nullptr) throw Error("attribute '{}' is not one of this op's", given.name);
    if (spec->kind != kind_of(given.value)) {
      throw Error("attribute '{}' is {}, {} needed", given.name, name_of(kind_of(given.value)),
                  name_of(spec->kind));
    }
  }
  for (const AttributeSpec& spec : op.spec->attributes) {
    if (spec.required && find_attribute(op, spec.name) == nullptr) {
      throw Error("attribute '{}' is missing", spec.name);
    }
  }
}

void check_types(const TypedOp& typed) {
  const OpSpec& spec = *typed.op.spec;
  std::array<DataType, 128> bound{};
  std::array<std::string_view, 128> binder{};
  for (std::size_t i = 0; i < typed.op.formal_inputs(); ++i) {
    if (!typed.has_input(i)) continue;
    const Parameter& parameter = *parameter_at(spec.inputs, i);
    const auto constraint = std::find_if(
        spec.types.begin(), spec.types.end(),
        [&](const TypeConstraint& candidate) { return candidate.letter == parameter.constraint; });
    IR_CHECK(constraint != spec.types.end(), "{} has no constraint {}", spec.name, parameter.constraint);
    const Type& type = typed.input(i);
    if (constraint->any_kind) continue;
    if (!type.is_tensor()) throw Error("input '{}' is {}, a tensor needed", parameter.name, to_string(type));
    if (type.element == DataType::Undefined) continue;
    if (!constraint->types.contains(type.element)) {
      throw Error("input '{}' has type {}, one of {} needed", parameter.name, name_of(type.element),
                  list(constraint->types));
    }
    if (parameter.heterogeneous) continue;
    DataType& first = bound[parameter.constraint];
    std::string_view& who = binder[parameter.constraint];
    if (first == DataType::Undefined) {
      first = type.element;
      who = parameter.name;
    } else if (first != type.element) {
      throw Error("input '{}' has type {}, {} needed as in input '{}'", parameter.name, name_of(type.element),
                  name_of(first), who);
    }
  }
}

namespace {

void verify_graph(const Graph& graph, const std::string& where) {
  IdMap<ValueId, bool> defined(std::ssize(graph.values), false);
  const auto define = [&](ValueId id, const std::string& by) {
    if (defined[id])
      throw Error("{}value '{}' is produced twice, the second time by {}", where, graph[id].name, by);
    defined[id] = true;
  };
  for (ValueId id : graph.inputs) define(id, "the graph's inputs");
  const auto is_there = [&](ValueId id) {
    return defined[id] || graph.is_constant(id) || graph[id].data_left_out;
  };
  for (const Op& op : graph.ops) {
    const std::string here = where + graph.describe(op);
    try {
      check_form(op);
    } catch (const Error& error) {
      throw error.at(here);
    }
    for (ValueId id : inputs_of(op)) {
      if (!is_there(id)) throw Error("{}: value '{}' is read before it is produced", here, graph[id].name);
    }
    for (ValueId id : outputs_of(op)) define(id, here);
    for_each_body(op, [&](std::string_view name, const Graph& body) {
      IR_CHECK(std::ssize(body.inputs) >= op.captures);
      verify_graph(body, fmt::format("{}: {}: ", here, name));
    });
  }
  for (ValueId id : graph.outputs) {
    if (!id.valid() || !is_there(id)) {
      throw Error("{}output '{}' is produced by no node", where, id.valid() ? graph[id].name : "");
    }
  }
}

}  // namespace

void verify(const Graph& graph) { verify_graph(graph, ""); }

}  // namespace podium::ir
