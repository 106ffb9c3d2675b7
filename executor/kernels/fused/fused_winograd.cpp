// 3x3 convolution by Winograd's algorithm.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/tools/thread_limit.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

// The weights of quantised networks (ir/passes/whole_products.h): their sums are exact, and the transforms'
// fractions would round them.
bool are_whole(const Tensor& weights) {
  const auto values = weights.values<float>();
  return std::all_of(values.begin(), values.end(), [](float value) { return value == std::trunc(value); });
}

// Whether it can be seen in the result that the transforms met an infinity: these end at a number.
bool keeps_infinity(const ir::TypedOp& op) {
  const std::string& activation = op.get_string("activation");
  return activation != "Sigmoid" && activation != "Tanh" && activation != "Elu";
}

// Of one group, or the weights have a dimension more.
bool is_worth_it(const ConvolutionPlan& plan) {
  if (plan.weights.size() != plan.x.size()) return false;
  Dims dilations = plan.window.dilations;
  for (std::int64_t& dilation : dilations) ++dilation;
  return ir::pays_by_packed_winograd({.window = {.kernel = {plan.weights.begin() + 2, plan.weights.end()},
                                                 .strides = plan.window.strides,
                                                 .dilations = dilations,
                                                 .pads_begin = plan.window.pads_begin,
                                                 .pads_end = plan.window.pads_end,
                                                 .output = {plan.y.begin() + 2, plan.y.end()}},
                                      .batch = plan.x[0],
                                      .in_channels = plan.x[1],
                                      .out_channels = plan.y[1]});
}

// The same convolution by its sum, for results that are not all finite. Its weights are packed when the first
// of them comes up, which most models never see.
class LateDirect {
 public:
  LateDirect(const ConvolutionPlan& plan, Tensor weights) : plan_(plan), weights_(std::move(weights)) {}

  void operator()(const RunContext& run) {
    std::call_once(once_, [&] {
      const ThreadLimit as_at_preparation(machine_threads());
      made_ = direct_convolution(plan_, [&](const memory::desc& layout) {
        return onednn::packed(weights_.raw(), onednn::plain(plan_.weights), layout);
      });
    });
    Tensor scratch(DataType::Uint8, {static_cast<std::int64_t>(made_.scratch)});
    RunContext own = run;
    own.scratch_memory = static_cast<std::byte*>(scratch.raw());
    made_.run(own);
  }

 private:
  const ConvolutionPlan plan_;
  const Tensor weights_;
  std::once_flag once_;
  DirectConvolution made_ = {};
};

struct Winograd {
  std::shared_ptr<LateDirect> direct;
  std::shared_ptr<const onednn::Call> call;
  std::shared_ptr<const onednn::Call> bring;  // x to the blocked layout
  std::shared_ptr<const onednn::Call> bring_residual;
  std::shared_ptr<const onednn::Call> give;  // y from it
  Tensor weights;
  bool has_bias = false;
  bool has_residual = false;
  std::shared_ptr<const ChainCode> behind = {};
  Clamp clamp = kNoClamp;
  std::size_t x_at = 0;  // in the scratch memory
  std::size_t y_at = 0;
  std::size_t y_elements = 0;

  void operator()(const RunContext& run) const {
    std::byte* x = run.scratch_memory + x_at;
    std::byte* y = run.scratch_memory + y_at;
    (*bring)(std::array<const void*, 2>{run.input(0).raw(), x});
    if (has_residual) (*bring_residual)(std::array<const void*, 2>{run.input(3).raw(), y});
    const void* bias = has_bias ? run.input(2).raw() : nullptr;
    (*call)(std::array<const void*, 5>{x, weights.raw(), bias, y, run.scratch_memory});
    if (!clamp.apply_to_finite({reinterpret_cast<float*>(y), y_elements})) return (*direct)(run);
    (*give)(std::array<const void*, 2>{y, run.output(0).raw()});
    if (behind) apply(*behind, run.output(0));
  }
};

}  // namespace

bool suits_winograd(const PrepareContext& context, const ConvolutionPlan& plan) {
  return is_worth_it(plan) && keeps_infinity(context) && !are_whole(*context.constant(1));
}

std::optional<PreparedKernel> prepare_winograd(PrepareContext& context, const ConvolutionPlan& plan) {
  if (!suits_winograd(context, plan)) return std::nullopt;
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_winograd, onednn::any(plan.x),
      onednn::any(plan.weights), plan.bias, onednn::any(plan.y), plan.window.strides, plan.window.dilations,
      plan.window.pads_begin, plan.window.pads_end);
  const dnnl::convolution_forward::primitive_desc primitive(description, onednn::attributes(plan.post_ops),
                                                            onednn::cpu(), true);
  if (!primitive) return std::nullopt;
  const memory::desc x = primitive.src_desc();
  const memory::desc y = primitive.dst_desc();
  const std::size_t x_at = onednn::aligned(primitive.scratchpad_desc().get_size());
  const std::size_t y_at = x_at + onednn::aligned(x.get_size());
  context.need_scratch(y_at + y.get_size());
  return Winograd{.direct = std::make_shared<LateDirect>(plan, *context.constant(1)),
                  .call = onednn::make_call(dnnl::convolution_forward(primitive), primitive,
                                            {{DNNL_ARG_SRC, x},
                                             {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                                             {DNNL_ARG_BIAS, plan.bias},
                                             {DNNL_ARG_DST, y}}),
                  .bring = onednn::reorder(onednn::channels_last(plan.x), x),
                  .bring_residual = onednn::reorder(onednn::channels_last(plan.y), y),
                  .give = onednn::reorder(y, onednn::channels_last(plan.y)),
                  .weights = onednn::packed(context, *context.constant(1), onednn::plain(plan.weights),
                                            primitive.weights_desc()),
                  .has_bias = !plan.bias.is_zero(),
                  .has_residual = plan.has_residual,
                  .behind = plan.behind,
                  .clamp = plan.clamp.value_or(kNoClamp),
                  .x_at = x_at,
                  .y_at = y_at,
                  .y_elements = y.get_size() / sizeof(float)};
}

}  // namespace podium::kernels
