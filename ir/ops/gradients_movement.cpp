#include <numeric>

#include "ir/ops/gradients.h"

namespace podium::ir {

void concat_gradient(GradientContext& context) {
  const std::int64_t axis = normalized_axis(attribute<std::int64_t>(context.op, "axis"), context.rank(context.output()));
  std::vector<std::int64_t> sizes;
  for (ValueId input : context.op.inputs) sizes.push_back(context.static_dims(input)[static_cast<std::size_t>(axis)]);
  const std::vector<ValueId> parts = context.builder.ops("", "Split", {context.output_gradient(), context.ints(sizes)},
                                                         sizes.size(), {{"axis", axis}});
  for (std::size_t i = 0; i < parts.size(); ++i) context.set(i, parts[i]);
}

void expand_gradient(GradientContext& context) {
  context.set(0, context.sum_to_shape_of(context.output_gradient(), context.input(0)));
}

void reshape_gradient(GradientContext& context) {
  context.set(0, context.reshape_like(context.output_gradient(), context.input(0)));
}

// The op applied to the positions of input 0's elements says where each output element came from.
void selection_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  const ValueId x = context.input(0);
  const Dims dims = context.static_dims(x);
  std::vector<std::int64_t> count(static_cast<std::size_t>(element_count(dims)));
  std::iota(count.begin(), count.end(), std::int64_t{0});
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = context.builder.constant(Tensor::ints(count).reshaped(dims));
  const ValueId origins = context.builder.ops(context.op.spec->domain, context.op.spec->name, inputs, 1,
                                              context.op.attributes)[0];
  const ValueId all = context.ints({-1});
  const ValueId flat = context.call("Reshape", {context.filled_like(x, 0), all});
  const ValueId back = context.call(
      "ScatterElements",
      {flat, context.call("Reshape", {origins, all}), context.call("Reshape", {context.output_gradient(), all})},
      {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
  context.set(0, context.reshape_like(back, x));
}

void split_gradient(GradientContext& context) {
  const std::int64_t axis = normalized_axis(attribute<std::int64_t>(context.op, "axis"), context.rank(context.input(0)));
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < context.op.outputs.size(); ++i) {
    const bool flows = context.output_gradient(i).valid();
    parts.push_back(flows ? context.output_gradient(i) : context.filled_like(context.output(i), 0));
  }
  context.set(0, context.call("Concat", parts, {{"axis", axis}}));
}

void transpose_gradient(GradientContext& context) {
  const IntList* order = attribute_if<IntList>(context.op, "perm");
  if (order == nullptr) return context.set(0, context.call("Transpose", {context.output_gradient()}));
  IntList inverse(order->size());
  for (std::size_t i = 0; i < order->size(); ++i) inverse[static_cast<std::size_t>((*order)[i])] = static_cast<std::int64_t>(i);
  context.set(0, context.call("Transpose", {context.output_gradient()}, {{"perm", inverse}}));
}

}  // namespace podium::ir
