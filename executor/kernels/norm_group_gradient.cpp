// The gradient of normalisations of stretches of X that lie side by side, each with its own moments: instance
// and group normalisation, whose scale is per channel, and whatever goes by rows without a scale.
// A stretch is one thread's. With m its mean, d its deviation and g = dY scale:
//   dX = (g - mean(g) - (X - m) mean(g (X - m)) / d^2) / d
// The scale is the same all over a channel, so that the means of g come from sums of dY and of dY (X - m) of
// each channel, which the gradients of scale and bias add up over the images, in their order.
#include <algorithm>

#include "executor/kernels/norm.h"
#include "executor/kernels/tools/moments.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

struct GroupGradient {
  std::int64_t stretches = 1;
  std::int64_t of_image = 1;  // stretches of one image
  std::int64_t channels = 1;  // of a stretch
  std::int64_t size = 1;      // elements of one channel of one image
  float epsilon = 0;
};

// What a channel of an image adds to the gradients of scale and bias.
struct FlowSums {
  float along = 0;  // of dY (X - mean)
  float flow = 0;   // of dY
};

FlowSums sums_of_channel(const float* x, const float* flow, std::int64_t count, float mean) {
  float along = 0;
  float sum = 0;
#pragma omp simd reduction(+ : along, sum)
  for (std::int64_t i = 0; i < count; ++i) {
    along += (x[i] - mean) * flow[i];
    sum += flow[i];
  }
  return {along, sum};
}

// `sums` are of the stretch's channels; dX may lie where X or dY do.
void gradient_of_stretch(const GroupGradient& op, const RunContext& run, std::int64_t stretch,
                         FlowSums* sums) {
  const std::int64_t count = op.channels * op.size;
  const float* x = run.input(0).data<float>() + stretch * count;
  const float* flow = run.input(1).data<float>() + stretch * count;
  float* to = run.output(0).data<float>() + stretch * count;
  const float* scale =
      run.has_input(2) ? run.input(2).data<float>() + stretch % op.of_image * op.channels : nullptr;
  const auto scale_of = [&](std::int64_t channel) { return scale == nullptr ? 1.0F : scale[channel]; };
  const Moments<float> moments = moments_of(x, count);
  const float mean = moments.mean;
  const float inverse = 1 / std::sqrt(moments.variance + op.epsilon);
  FlowSums total;
  for (std::int64_t c = 0; c < op.channels; ++c) {
    sums[c] = sums_of_channel(x + c * op.size, flow + c * op.size, op.size, mean);
    total.along += sums[c].along * scale_of(c);
    total.flow += sums[c].flow * scale_of(c);
    sums[c].along *= inverse;
  }
  const float slope = total.along * inverse * inverse / static_cast<float>(count);
  const float mean_flow = total.flow / static_cast<float>(count);
  for (std::int64_t c = 0; c < op.channels; ++c) {
    const float factor = scale_of(c);
    const std::int64_t end = (c + 1) * op.size;
#pragma omp simd
    for (std::int64_t i = c * op.size; i < end; ++i)
      to[i] = inverse * (flow[i] * factor - mean_flow - (x[i] - mean) * slope);
  }
}

// Over the images, whose sums are one after the other.
void add_images(const GroupGradient& op, const FlowSums* sums, float FlowSums::*part, Tensor& total) {
  auto* to = total.data<float>();
  const std::int64_t channels = op.of_image * op.channels;
  std::fill_n(to, channels, 0.0F);
  for (std::int64_t n = 0; n < op.stretches / op.of_image; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) to[c] += sums[n * channels + c].*part;
  }
}

GroupGradient read_group_gradient(const PrepareContext& context) {
  const Dims& x = context.dims(0);
  GroupGradient op{.stretches = context.get_int("stretches"), .epsilon = context.get_float("epsilon")};
  op.size = count_of(x, 0, x.size()) / op.stretches;
  if (!context.has_input(2)) return op;
  op.of_image = op.stretches / x[0];
  op.channels = x[1] / op.of_image;
  op.size /= op.channels;
  return op;
}

}  // namespace

PreparedKernel prepare_group_normalization_gradient(PrepareContext& context) {
  const GroupGradient op = read_group_gradient(context);
  context.need_scratch(op.stretches * op.channels * sizeof(FlowSums));
  return [op](const RunContext& run) {
    auto* sums = run.scratch<FlowSums>();
    constexpr std::int64_t kOperations = 12;
    const std::int64_t cost = kOperations * op.channels * op.size;
    parallel_ranges(op.stretches, cost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) gradient_of_stretch(op, run, i, sums + i * op.channels);
    });
    if (run.has_output(1)) add_images(op, sums, &FlowSums::along, run.output(1));
    if (run.has_output(2)) add_images(op, sums, &FlowSums::flow, run.output(2));
  };
}

}  // namespace podium::kernels
