// A fused convolution by Winograd's algorithm as products with strips of weights that are transformed once.
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/winograd_strips.h"

namespace podium::kernels {
namespace {

struct StripWinograd {
  winograd::Shape shape;
  Tensor weights;      // as they were
  Tensor transformed;  // windows
  WinogradWindows windows;
  Clamp clamp;
  ActivationPass activation = {};

  void operator()(const RunContext& run) const {
    const auto optional = [&](std::size_t i) {
      return run.has_input(i) ? run.input(i).data<float>() : nullptr;
    };
    convolve_by_winograd_strips(shape, {.x = run.input(0).data<float>(),
                                        .windows = windows,
                                        .transformed = transformed.data<float>(),
                                        .bias = optional(2),
                                        .addend = optional(3),
                                        .low = clamp.low,
                                        .high = clamp.high,
                                        .y = run.output(0).data<float>(),
                                        .scratch = run.scratch_memory});
    activation(run);
  }
};

}  // namespace

std::optional<PreparedKernel> prepare_strip_winograd(PrepareContext& context, const ConvolutionPlan& plan) {
  // The question of the processor first: the other one goes through all weights.
  if (!suits_winograd(context, plan)) return std::nullopt;
  const winograd::Shape shape{.images = plan.x[0],
                              .x = {plan.x[1], {plan.x[2], plan.x[3]}},
                              .y = {plan.y[1], {plan.y[2], plan.y[3]}},
                              .pads = {plan.window.pads_begin[0], plan.window.pads_begin[1]}};
  if (!has_winograd_strips(shape)) return std::nullopt;
  const Tensor& weights = *context.constant(1);
  const WinogradWindows windows = winograd_windows({.in_channels = shape.x.channels}, weights.data<float>());
  const Dims dims{floats_of_winograd_windows(shape)};
  const Tensor transformed = kept(context, {.name = "Winograd strips", .from = weights},
                                  ir::Type::tensor(DataType::Float, dims), [&](const Tensor& /*numbers*/) {
                                    Tensor all(DataType::Float, dims);
                                    transform_windows(shape, windows, all.data<float>());
                                    return all;
                                  });
  StripWinograd kernel{.shape = shape,
                       .weights = weights,
                       .transformed = transformed,
                       .windows = windows,
                       .clamp = plan.clamp.value_or(kNoClamp)};
  std::size_t scratch = scratch_of_winograd_strips(shape);
  // When the threads are done.
  kernel.activation = ActivationPass(onednn::channels_last(plan.y), plan.activation, scratch);
  context.need_scratch(scratch);
  return kernel;
}

}  // namespace podium::kernels
