// Convolution on channels-last memory, in oneDNN.
#include <algorithm>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/fused/fused_conv.h"

namespace podium::kernels {

using dnnl::memory;

Dims logical_dims(const Dims& channels_last) {
  Dims dims = channels_last;
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return dims;
}

ConvolutionWindow window_of(const ir::TypedOp& op) {
  ConvolutionWindow window;
  window.strides = op.get<ir::IntList>("strides");
  window.dilations = onednn::less_one(op.get<ir::IntList>("dilations"));
  const ir::IntList& pads = op.get<ir::IntList>("pads");
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  window.pads_begin.assign(pads.begin(), pads.begin() + half);
  window.pads_end.assign(pads.begin() + half, pads.end());
  return window;
}

ProductConvolution::ProductConvolution(const Product& product, onednn::Element element)
    : x{1, product.k, 1, product.m},
      y{1, product.n, 1, product.m},
      weights(onednn::strided({product.n, product.k, 1, 1},
                              product.transpose_b ? Dims{product.k, 1, 1, 1} : Dims{1, product.n, 1, 1},
                              element)) {}

Dims grouped(const Dims& weights, std::int64_t group) {
  if (group == 1) return weights;
  Dims dims = weights;
  dims[0] /= group;
  dims.insert(dims.begin(), group);
  return dims;
}

dnnl::convolution_forward::primitive_desc direct_primitive(const ConvolutionPlan& plan,
                                                           const memory::desc& weights,
                                                           const dnnl::post_ops& post_ops) {
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, onednn::channels_last(plan.x),
      weights, plan.bias, onednn::channels_last(plan.y), plan.window.strides, plan.window.dilations,
      plan.window.pads_begin, plan.window.pads_end);
  return {description, onednn::attributes(post_ops), onednn::cpu()};
}

std::shared_ptr<const onednn::Call> direct_call(const ConvolutionPlan& plan,
                                                const dnnl::convolution_forward::primitive_desc& primitive) {
  return onednn::make_call(dnnl::convolution_forward(primitive), primitive,
                           {{DNNL_ARG_SRC, onednn::channels_last(plan.x)},
                            {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                            {DNNL_ARG_BIAS, plan.bias},
                            {DNNL_ARG_DST, onednn::channels_last(plan.y)}});
}

DirectConvolution direct_convolution(const ConvolutionPlan& plan, const Pack& pack) {
  std::size_t scratch = 0;
  const auto make = [&](const memory::desc& weights, const dnnl::post_ops& post_ops) {
    auto primitive = direct_primitive(plan, weights, post_ops);
    scratch = std::max(scratch, primitive.scratchpad_desc().get_size());
    return primitive;
  };
  const auto primitive = make(onednn::any(plan.weights), plan.post_ops);
  PackedCall run{.call = direct_call(plan, primitive),
                 .weights = pack(primitive.weights_desc()),
                 .has_bias = !plan.bias.is_zero(),
                 .has_residual = plan.has_residual,
                 .behind = plan.behind,
                 .clamp = plan.clamp};
  if (plan.clamp && !plan.has_residual) {  // the sum has overwritten the residual
    run.clamping = direct_call(plan, make(primitive.weights_desc(), plan.with_clamp));
  }
  return {std::move(run), scratch};
}

void ConvolutionPlan::set_ending(const ir::TypedOp& op) {
  activation = activation_of(op);
  behind = activation_code(activation);
  // Post-ops that are copied stay the same object.
  for (dnnl::post_ops* ending : {&post_ops, &with_clamp}) {
    if (has_residual) ending->append_sum(1.0F);
    if (!behind) append_activation(*ending, activation);
  }
  clamp = clamp_of(op);
  if (clamp) clamp->append_to(with_clamp);
}

ConvolutionPlan plan_of(const ir::TypedOp& op) {
  ConvolutionPlan plan{.x = logical_dims(op.dims(0)),
                       .y = logical_dims(op.output(0).dims),
                       .weights = grouped(op.dims(1), op.get_int("group")),
                       .window = window_of(op),
                       .bias = op.has_input(2) ? onednn::plain(op.dims(2)) : memory::desc(),
                       .has_residual = op.has_input(3)};
  plan.set_ending(op);
  return plan;
}

PreparedKernel prepare_fused_convolution(PrepareContext& context) {
  IR_CHECK(context.constant(1) != nullptr, "the weights of a fused convolution are not constant");
  const ConvolutionPlan plan = plan_of(context);
  if (auto winograd = prepare_strip_winograd(context, plan)) return std::move(*winograd);
  if (auto winograd = prepare_winograd(context, plan)) return std::move(*winograd);
  if (auto strips = prepare_strip_convolution(context, plan)) return std::move(*strips);
  if (auto lines = prepare_line_products(context, plan)) return std::move(*lines);
  DirectConvolution direct = direct_convolution(plan, [&](const memory::desc& layout) {
    return onednn::packed(context, *context.constant(1), onednn::plain(plan.weights), layout);
  });
  context.need_scratch(direct.scratch);
  return std::move(direct.run);
}

}  // namespace podium::kernels
