#include "tests/executor/gradients/case_in_double.h"

#include <algorithm>
#include <cmath>

#include "ir/bodies.h"
#include "ir/gradients/gradient.h"
#include "tests/support/onnx_case.h"

namespace podium::testing {
namespace {

using ir::DataType;

ir::Tensor in_double(const ir::Tensor& tensor) {
  return tensor.type() == DataType::Float ? ir::multiplied(tensor, 1, DataType::Double) : tensor;
}

ir::Type in_double(ir::Type type) {
  if (type.is_tensor() && type.element == DataType::Float) type.element = DataType::Double;
  if (type.inner) type.inner = std::make_shared<const ir::Type>(in_double(*type.inner));
  return type;
}

ir::Datum in_double(const ir::Datum& datum) {
  if (datum.is_tensor()) return in_double(datum.tensor);
  ir::Datum result = datum;
  if (datum.holds != ir::Datum::Holds::Sequence) return result;
  std::vector<ir::Datum> items;
  for (const ir::Datum& item : *datum.items) items.push_back(in_double(item));
  return ir::Datum::sequence(std::move(items));
}

bool takes_double(const ir::OpSpec& spec, std::size_t i) {
  if (spec.inputs.empty()) return true;
  const char letter = spec.inputs[std::min(i, spec.inputs.size() - 1)].constraint;
  return std::all_of(spec.types.begin(), spec.types.end(), [&](const ir::TypeConstraint& constraint) {
    return constraint.letter != letter || constraint.any_kind || constraint.types.contains(DataType::Double);
  });
}

std::vector<bool> read_as_floats_only(const ir::Graph& graph) {
  std::vector<bool> only(graph.values.size(), false);
  for (const ir::Op& op : graph.ops) {
    for (std::size_t i = 0; i < op.formal_inputs(); ++i) {
      if (op.inputs[i].valid() && !takes_double(*op.spec, i)) only[op.inputs[i].index] = true;
    }
  }
  return only;
}

// Gives in double the value that an attribute gives in floats, or leaves at its default.
void give_double_value(ir::Op& op) {
  const auto set = [&](ir::Tensor floats) { set_attribute(op, "value", in_double(floats)); };
  if (op.is("ConstantOfShape") && find_attribute(op, "value") == nullptr)
    set(ir::Tensor::of<float>({1}, std::vector<float>{0}));
  if (!op.is("Constant")) return;
  if (const auto* number = attribute_if<float>(op, "value_float")) set(ir::Tensor::scalar(*number));
  if (const auto* list = attribute_if<ir::FloatList>(op, "value_floats"))
    set(ir::Tensor::of<float>({std::ssize(*list)}, *list));
  remove_attribute(op, "value_float");
  remove_attribute(op, "value_floats");
}

void convert_attributes(ir::Op& op) {
  give_double_value(op);
  for (ir::Attribute& attribute : op.attributes) {
    if (const auto* tensor = ir::value_if<ir::Tensor>(attribute.value)) attribute.value = in_double(*tensor);
    if (const auto* type = ir::value_if<ir::Type>(attribute.value)) attribute.value = in_double(*type);
    auto* number = std::get_if<std::int64_t>(&attribute.value);
    const bool names_type =
        attribute.name == "to" || attribute.name == "dtype" || attribute.name == "output_dtype";
    if (number != nullptr && names_type && *number == static_cast<std::int64_t>(DataType::Float)) {
      *number = static_cast<std::int64_t>(DataType::Double);
    }
  }
}

void convert(ir::Graph& graph) {
  const std::vector<bool> floats = read_as_floats_only(graph);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (floats[i]) continue;
    ir::Value& value = graph.values[i];
    value.type = in_double(value.type);
    if (value.constant) value.constant = in_double(*value.constant);
  }
  for (ir::Op& op : graph.ops) {
    convert_attributes(op);
    edit_bodies(op, [](ir::Graph& body) {
      convert(body);
      return true;
    });
  }
}

// A twentieth at most, another for each element.
void move_a_little(ir::Tensor& tensor, std::size_t input, int attempt) {
  const double most = 0.05 * std::pow(0.1, attempt);
  const double phase = 1.9 * static_cast<double>(input) + attempt;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data<double>()[i] += most * std::sin(12.9898 * static_cast<double>(i + 1) + phase);
  }
}

}  // namespace

CaseInDouble read_case_in_double(const std::string& folder, int attempt) {
  CaseInDouble result;
  result.inputs = read_case_inputs(folder);
  result.model = import_case(folder, result.inputs);
  convert(result.model.graph);
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    const ir::Type& type = result.model.graph[result.model.graph.inputs[i]].type;
    ir::Datum& input = result.inputs[i];
    if (!(in_double(type) == type)) continue;  // it stays a float
    input = in_double(input);
    if (!input.is_tensor() || input.tensor.type() != DataType::Double) continue;
    input.tensor = input.tensor.clone();
    move_a_little(input.tensor, i, attempt);
  }
  return result;
}

}  // namespace podium::testing
