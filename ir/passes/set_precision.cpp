// All float and float16 values, constants and types named in attributes change to the wanted precision,
// bodies included. Where a row demands the other one (scales of a Resize, for one), casts go around the op,
// or the constant as it was is used. The lowest float becomes the lowest float16, not infinity: masks are
// multiplied. Values that no op reads, such as saved optimizer state, stay as they are.
#include "ir/passes/set_precision.h"

#include <algorithm>
#include <cmath>

#include "ir/bodies.h"
#include "ir/element.h"
#include "ir/infer.h"
#include "ir/op_spec.h"

namespace podium::ir {
namespace {

bool is_either(DataType type) { return type == DataType::Float || type == DataType::Float16; }

template <class From, class To, class Convert>
Tensor converted(const Tensor& tensor, DataType type, const Convert& convert) {
  Tensor result(type, tensor.dims());
  const auto from = tensor.values<From>();
  std::transform(from.begin(), from.end(), result.values<To>().begin(), convert);
  return result;
}

// A mask multiplies the lowest float with 0 or 1: it must not become infinite.
Float16 as_half(float value) {
  constexpr float kLargest = 65504;
  return Float16(std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : value);
}

Type in_precision(Type type, DataType precision) {
  if (type.is_tensor() && is_either(type.element)) type.element = precision;
  if (type.inner) type.inner = std::make_shared<const Type>(in_precision(*type.inner, precision));
  return type;
}

// The element type that the row demands instead of `precision`; Undefined where it takes that too.
DataType demanded(const OpSpec& spec, const Parameter* parameter, DataType precision) {
  if (parameter == nullptr) return DataType::Undefined;
  const auto found = std::find_if(
      spec.types.begin(), spec.types.end(),
      [&](const TypeConstraint& constraint) { return constraint.letter == parameter->constraint; });
  const DataType other = precision == DataType::Float ? DataType::Float16 : DataType::Float;
  const bool is_bound = found != spec.types.end() && !found->any_kind && !found->types.contains(precision);
  return is_bound && found->types.contains(other) ? other : DataType::Undefined;
}

class SetPrecision {
 public:
  SetPrecision(Graph& graph, DataType precision) : graph_(graph), precision_(precision) {}

  void run() {
    for (const Value& value : graph_.values)
      is_float_.push_back(value.type.is_tensor() && is_either(value.type.element));
    convert_values();
    std::vector<Op> ops = std::move(graph_.ops);
    graph_.ops.clear();
    for (Op& op : ops) {
      convert_attributes(op);
      edit_bodies(op, [this](Graph& body) {
        SetPrecision(body, precision_).run();
        return true;
      });
      add(std::move(op));
    }
  }

 private:
  // Optimizer state beside the weights has no reader, and keeps its own precision.
  IdMap<ValueId, bool> find_used() const {
    IdMap<ValueId, bool> used(std::ssize(graph_.values), false);
    for (const Op& op : graph_.ops) {
      for (ValueId id : inputs_of(op)) used[id] = true;
      for (ValueId id : outputs_of(op)) used[id] = true;
    }
    for (ValueId id : graph_.inputs) used[id] = true;
    for (ValueId id : PresentValues(graph_.outputs)) used[id] = true;
    return used;
  }

  void convert_values() {
    const IdMap<ValueId, bool> used = find_used();
    for (ValueId id : graph_.value_ids()) {
      Value& value = graph_[id];
      originals_.push_back(value.constant);
      if (!used[id]) continue;
      value.type = in_precision(value.type, precision_);
      if (value.constant) value.constant = ir::in_precision(*value.constant, precision_);
    }
  }

  void convert_attributes(Op& op) const {
    for (Attribute& attribute : op.attributes) {
      if (const auto* tensor = value_if<Tensor>(attribute.value))
        attribute.value = ir::in_precision(*tensor, precision_);
      auto* number = std::get_if<std::int64_t>(&attribute.value);
      const bool names_type = attribute.name == "to" || attribute.name == "dtype";
      const bool is_type = number != nullptr && *number > 0 && *number < kDataTypeCount;
      if (!names_type || !is_type || !is_either(static_cast<DataType>(*number))) continue;
      *number = static_cast<std::int64_t>(precision_);
    }
  }

  // The op between the casts that it needs.
  void add(Op op) {
    const OpSpec& spec = *op.spec;
    std::vector<Op> after;
    for (std::size_t i = 0; i < op.formal_inputs(); ++i) {
      const DataType type = demanded(spec, parameter_at(spec.inputs, i), precision_);
      if (type == DataType::Undefined || !is_affected(op.inputs[i])) continue;
      op.inputs[i] = as_it_was(op.inputs[i], type, op);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const DataType type = demanded(spec, parameter_at(spec.outputs, i), precision_);
      if (type == DataType::Undefined || !is_affected(op.outputs[i])) continue;
      const ValueId wanted = op.outputs[i];
      op.outputs[i] = graph_.add_value(graph_.fresh_name(graph_[wanted].name), Type::tensor(type));
      after.push_back(cast(op.outputs[i], wanted, precision_, op));
    }
    graph_.ops.push_back(std::move(op));
    std::move(after.begin(), after.end(), std::back_inserter(graph_.ops));
  }

  bool is_affected(ValueId id) const { return is_float_.contains(id) && is_float_[id]; }

  ValueId as_it_was(ValueId id, DataType type, const Op& op) {
    const std::optional<Tensor>& original = originals_[id];
    if (original)
      return graph_.add_constant(graph_.fresh_name(graph_[id].name), ir::in_precision(*original, type));
    const ValueId result = graph_.add_value(graph_.fresh_name(graph_[id].name), Type::tensor(type));
    graph_.ops.push_back(cast(id, result, type, op));
    return result;
  }

  static Op cast(ValueId from, ValueId to, DataType type, const Op& beside) {
    Op op{.spec = find_op("", "Cast"), .name = beside.name, .inputs = {from}, .outputs = {to}};
    for (const Attribute& attribute : beside.attributes) {
      if (beside.spec->find_attribute(attribute.name) == nullptr) op.attributes.push_back(attribute);
    }
    set_attribute(op, "to", static_cast<std::int64_t>(type));
    return op;
  }

  Graph& graph_;
  DataType precision_;
  IdMap<ValueId, bool> is_float_;  // values of the graph as it was
  IdMap<ValueId, std::optional<Tensor>> originals_;
};

}  // namespace

Tensor in_precision(const Tensor& tensor, DataType precision) {
  if (tensor.type() == precision || !is_either(tensor.type())) return tensor;
  if (precision == DataType::Float16) return converted<float, Float16>(tensor, precision, as_half);
  return converted<Float16, float>(tensor, precision,
                                   [](Float16 value) { return static_cast<float>(value); });
}

void set_precision(Graph& graph, DataType precision) {
  IR_CHECK(is_either(precision));
  infer(graph);
  SetPrecision(graph, precision).run();
}

}  // namespace podium::ir
