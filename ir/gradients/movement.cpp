#include <numeric>

#include "ir/gradients/families.h"
#include "ir/permutation.h"

namespace podium::ir {
namespace {

void concat_gradient(GradientContext& context) {
  const std::int64_t axis =
      normalized_axis(attribute<std::int64_t>(context.op, "axis"), context.rank(context.output()));
  std::vector<std::int64_t> sizes;
  for (ValueId input : context.op.inputs) sizes.push_back(context.static_dims(input)[axis]);
  const std::vector<ValueId> parts = context.builder.ops(
      "", "Split", {context.output_gradient(), context.ints(sizes)}, sizes.size(), {{"axis", axis}});
  for (std::size_t i = 0; i < parts.size(); ++i) context.set(i, parts[i]);
}

void expand_gradient(GradientContext& context) {
  context.set(0, context.sum_to_shape_of(context.output_gradient(), context.input(0)));
}

void reshape_gradient(GradientContext& context) {
  context.set(0, context.reshape_like(context.output_gradient(), context.input(0)));
}

void split_gradient(GradientContext& context) {
  const std::int64_t axis =
      normalized_axis(attribute<std::int64_t>(context.op, "axis"), context.rank(context.input(0)));
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = context.filled_like(context.input(0), 0);
  const std::size_t count = context.op.outputs.size();
  const std::vector<ValueId> nothing = context.builder.ops("", "Split", inputs, count, context.op.attributes);
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const bool flows = context.output_gradient(i).valid();
    parts.push_back(flows ? context.output_gradient(i) : nothing[i]);
  }
  context.set(0, context.call("Concat", parts, {{"axis", axis}}));
}

void transpose_gradient(GradientContext& context) {
  const IntList* order = attribute_if<IntList>(context.op, "perm");
  if (order == nullptr) return context.set(0, context.call("Transpose", {context.output_gradient()}));
  context.set(0, context.call("Transpose", {context.output_gradient()}, {{"perm", inverse_order(*order)}}));
}

}  // namespace

std::span<const GradientRow> movement_gradients() {
  static constexpr GradientRow kRows[]{
      {"Reshape", reshape_gradient},     {"Flatten", reshape_gradient}, {"Squeeze", reshape_gradient},
      {"Unsqueeze", reshape_gradient},   {"Expand", expand_gradient},   {"Concat", concat_gradient},
      {"Transpose", transpose_gradient}, {"Split", split_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
