// Ops that combine elements of the same index of several inputs, which are stretched to one shape by NumPy's
// rule. Rows are made by family: arithmetic, comparisons with bool results, bits, and ops of any number of
// inputs; a neutral operand, such as the 0 of Add, stands in the row for simplification.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/totals.h"

namespace podium::ir {
namespace {

constexpr std::string_view kNotANumber = "its output is not a floating point number";

OpSpec binary(std::string_view name, int since, TypeSet types) {
  return {.name = name,
          .since = since,
          .inputs = {{"A"}, {"B"}},
          .outputs = {{"C"}},
          .types = {{'T', types}},
          .infer = broadcast_inputs,
          .work = work_per_element<1>,
          .elementwise = true};
}

OpSpec without_gradient(OpSpec spec) {
  spec.no_gradient = kNotANumber;
  return spec;
}

OpSpec comparison(std::string_view name, int since, TypeSet types) {
  OpSpec spec = without_gradient(binary(name, since, types));
  spec.outputs = {{"C", 'B'}};
  spec.types.push_back({'B', kBool});
  spec.infer = broadcast_to_bool;
  return spec;
}

OpSpec arithmetic(std::string_view name, Neutral neutral, TotalRule total) {
  OpSpec spec = in_place(kFirstTwoInputs, binary(name, 14, kNumeric));
  spec.neutral = neutral;
  spec.total = total;
  return spec;
}

Work work_of_variadic(const TypedOp& op) {
  Work work = work_per_element<1>(op);
  work.flop *= static_cast<double>(std::max<std::size_t>(op.input_count(), 2) - 1);
  return work;
}

OpSpec variadic(std::string_view name, TypeSet types) {
  OpSpec spec = binary(name, 13, types);
  spec.inputs = {{"data_0", 'T', Formal::Variadic}};
  spec.in_place = kFirstInput;
  spec.work = work_of_variadic;
  spec.hands_on = has_one_input;
  return spec;
}

OpSpec with_attribute(OpSpec spec, AttributeSpec attribute) {
  spec.attributes.push_back(std::move(attribute));
  return spec;
}

OpSpec power() {
  OpSpec spec = binary("Pow", 15, kFloats | kIndices);
  spec.inputs = {{"X"}, {"Y", 'E'}};
  spec.in_place = kFirstInput;
  spec.types.push_back({'E', kNumeric});
  spec.work = work_per_element<8>;
  return spec;
}

// The slope is stretched to the input, never the other way round.
void infer_prelu(InferContext& context) {
  if (context.has_rank(0) && context.has_rank(1)) {
    const Dims& x = context.dims(0);
    const Dims both = broadcast(x, context.dims(1));
    bool fits = both.size() == x.size();
    for (std::size_t i = 0; fits && i < x.size(); ++i) fits = x[i] == kUnknown || both[i] == x[i];
    if (!fits)
      throw Error("slope is {}, it cannot be stretched to {}", to_string(context.dims(1)), to_string(x));
  }
  same_as_input(context);
}

OpSpec prelu() {
  OpSpec spec = binary(
      "PRelu", 16, kFloats | TypeSet{DataType::Int32, DataType::Int64, DataType::Uint32, DataType::Uint64});
  spec.inputs = {{"X"}, {"slope"}};
  spec.in_place = kFirstInput;
  spec.infer = infer_prelu;
  return spec;
}

void infer_where(InferContext& context) {
  context.set_output(0, broadcast_type(context, context.element(1)));
}

OpSpec where() {
  OpSpec spec = binary("Where", 16, kNumeric | kBool | kString | kComplex);
  spec.inputs = {{"condition", 'B'}, {"X"}, {"Y"}};
  spec.types.push_back({'B', kBool});
  spec.infer = infer_where;
  spec.work = work_of_moving;
  return spec;
}

std::vector<OpSpec> number_rows() {
  return {
      // 0 would lose the sign of -0.
      arithmetic("Add", {.value = -0.0F, .on_either_side = true}, sum_of_totals),
      arithmetic("Sub", {.value = 0.0F}, sum_of_totals),
      arithmetic("Mul", {.value = 1.0F, .on_either_side = true}, scaled_total),
      arithmetic("Div", {.value = 1.0F}, total_of_first),
      in_place(kFirstTwoInputs,
               gained(10, with_attribute(binary("Mod", 28, kNumeric), with_default("fmod", 0)))),
      power(),
      prelu(),
      variadic("Max", kNumeric),
      variadic("Min", kNumeric),
      with_total(sum_of_totals, variadic("Sum", kFloats)),
      with_total(sum_of_totals, variadic("Mean", kFloats)),
      gained(9, where()),
  };
}

OpSpec bitwise(std::string_view name, int since, TypeSet types) {
  return in_place(kFirstTwoInputs, without_gradient(binary(name, since, types)));
}

std::vector<OpSpec> logic_rows() {
  const AttributeSpec direction = must_have("direction", AttributeKind::String);
  return {
      in_place(kFirstTwoInputs, comparison("And", 7, kBool)),
      in_place(kFirstTwoInputs, comparison("Or", 7, kBool)),
      in_place(kFirstTwoInputs, comparison("Xor", 7, kBool)),
      comparison("Equal", 19, kNumeric | kBool | kString),
      comparison("Greater", 13, kNumeric),
      comparison("Less", 13, kNumeric),
      gained(12, comparison("GreaterOrEqual", 16, kNumeric)),
      gained(12, comparison("LessOrEqual", 16, kNumeric)),
      gained(18, bitwise("BitwiseAnd", 18, kInts)),
      gained(18, bitwise("BitwiseOr", 18, kInts)),
      gained(18, bitwise("BitwiseXor", 18, kInts)),
      gained(11, with_attribute(bitwise("BitShift", 11, kUnsignedInts), direction)),
  };
}

}  // namespace

std::span<const OpSpec> binary_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows = number_rows();
    for (OpSpec& row : logic_rows()) rows.push_back(row);
    return family({.category = Category::Elementwise}, std::move(rows));
  }();
  return kRows;
}

}  // namespace podium::ir
