// Convolution and pooling on channels-last memory, in oneDNN.
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/fused/packed_call.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

// [N, spatial..., C] as oneDNN's logical [N, C, spatial...].
Dims logical(const Dims& channels_last) {
  Dims dims = channels_last;
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return dims;
}

ConvolutionWindow window_of(const PrepareContext& context) {
  ConvolutionWindow window;
  window.strides = context.get<ir::IntList>("strides");
  window.dilations = context.get<ir::IntList>("dilations");
  for (std::int64_t& dilation : window.dilations) --dilation;
  const ir::IntList& pads = context.get<ir::IntList>("pads");
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  window.pads_begin.assign(pads.begin(), pads.begin() + half);
  window.pads_end.assign(pads.begin() + half, pads.end());
  return window;
}

Dims grouped(const Dims& weights, std::int64_t group) {
  if (group == 1) return weights;
  Dims dims = weights;
  dims[0] /= group;
  dims.insert(dims.begin(), group);
  return dims;
}

}  // namespace

PreparedKernel prepare_direct(PrepareContext& context, const ConvolutionPlan& plan, WeightLayout layout) {
  const auto x = onednn::channels_last(plan.x);
  const auto y = onednn::channels_last(plan.y);
  const auto given = onednn::plain(plan.weights);
  const auto weights = layout == WeightLayout::Packed ? onednn::any(plan.weights) : given;
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, weights, plan.bias, y,
      plan.window.strides, plan.window.dilations, plan.window.pads_begin, plan.window.pads_end);
  const dnnl::convolution_forward::primitive_desc primitive(description, onednn::attributes(plan.post_ops),
                                                            onednn::cpu());
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return PackedCall{.call = onednn::make_call(dnnl::convolution_forward(primitive), primitive,
                                              {{DNNL_ARG_SRC, x},
                                               {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                                               {DNNL_ARG_BIAS, plan.bias},
                                               {DNNL_ARG_DST, y}}),
                    .weights = layout == WeightLayout::Packed
                                   ? onednn::packed(*context.constant(1), given, primitive.weights_desc())
                                   : *context.constant(1),
                    .has_bias = !plan.bias.is_zero(),
                    .has_residual = plan.has_residual,
                    .clamp = plan.clamp};
}

PreparedKernel prepare_fused_convolution(PrepareContext& context) {
  IR_CHECK(context.constant(1) != nullptr, "the weights of a fused convolution are not constant");
  ConvolutionPlan plan{.x = logical(context.dims(0)),
                       .y = logical(context.output(0).dims),
                       .weights = grouped(context.dims(1), context.get_int("group")),
                       .window = window_of(context),
                       .bias = context.has_input(2) ? onednn::plain(context.dims(2)) : memory::desc(),
                       .has_residual = context.has_input(3)};
  if (plan.has_residual) plan.post_ops.append_sum(1.0F);
  append_activation(plan.post_ops, context);
  plan.clamp = clamp_of(context);
  if (auto winograd = prepare_winograd(context, plan)) return std::move(*winograd);
  return prepare_direct(context, plan, WeightLayout::Packed);
}

namespace {

dnnl::algorithm pool_algorithm(const std::string& kind) {
  if (kind == "max") return dnnl::algorithm::pooling_max;
  return kind == "average" ? dnnl::algorithm::pooling_avg_exclude_padding
                           : dnnl::algorithm::pooling_avg_include_padding;
}

}  // namespace

PreparedKernel prepare_fused_pool(PrepareContext& context) {
  const ConvolutionWindow window = window_of(context);
  const auto x = onednn::channels_last(logical(context.dims(0)));
  const auto y = onednn::channels_last(logical(context.output(0).dims));
  const dnnl::pooling_v2_forward::desc description(
      dnnl::prop_kind::forward_inference, pool_algorithm(context.get_string("kind")), x, y, window.strides,
      context.get<ir::IntList>("kernel_shape"), window.dilations, window.pads_begin, window.pads_end);
  const dnnl::pooling_v2_forward::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return [call = onednn::make_call(dnnl::pooling_v2_forward(primitive), primitive,
                                   {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}})](const RunContext& run) {
    (*call)(std::array<const void*, 3>{run.input(0).raw(), run.output(0).raw(), run.scratch_memory});
  };
}

}  // namespace podium::kernels
