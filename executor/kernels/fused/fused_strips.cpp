// A convolution on channels-last memory as products with strips of weights. A window is a row of x that lies
// in stretches, the channels of each of its taps, and outside of the image a stretch of zeros, so that
// nothing is copied. A block of windows stays in the cache while all strips of weights go by.
#include <algorithm>
#include <array>
#include <vector>

#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strip_products.h"

namespace podium::kernels {
namespace {

constexpr std::size_t kAxes = 3;  // those that lines and planes lack have one element
using SpatialPlace = std::array<std::int64_t, kAxes>;

std::int64_t product_of(const SpatialPlace& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

bool is_inside(std::int64_t at, std::int64_t size) { return at >= 0 && at < size; }

// Where the windows of a convolution lie in x.
struct WindowPlaces {
  std::int64_t channels = 0;
  SpatialPlace x{1, 1, 1};
  SpatialPlace y{1, 1, 1};
  SpatialPlace kernel{1, 1, 1};
  SpatialPlace strides{1, 1, 1};
  SpatialPlace steps{1, 1, 1};  // from tap to tap
  SpatialPlace pads{0, 0, 0};

  explicit WindowPlaces(const ConvolutionPlan& plan) : channels(plan.x[1]) {
    const std::size_t rank = plan.window.strides.size();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::size_t to = kAxes - rank + axis;
      x[to] = plan.x[axis + 2];
      y[to] = plan.y[axis + 2];
      kernel[to] = plan.weights[axis + 2];
      strides[to] = plan.window.strides[axis];
      steps[to] = plan.window.dilations[axis] + 1;
      pads[to] = plan.window.pads_begin[axis];
    }
  }

  std::int64_t taps() const { return product_of(kernel); }

  // Where the channels of the taps of window `index` start, those of all images counted; `outside`: of those
  // that x lacks.
  void find_starts(std::int64_t index, const float* all, const float* outside, const float** starts) const {
    const std::int64_t in_image = index % product_of(y);
    const float* image = all + index / product_of(y) * product_of(x) * channels;
    const SpatialPlace window{in_image / (y[1] * y[2]), in_image / y[2] % y[1], in_image % y[2]};
    SpatialPlace first;
    for (std::size_t axis = 0; axis < kAxes; ++axis) first[axis] = window[axis] * strides[axis] - pads[axis];
    for (std::int64_t i = 0; i < kernel[0]; ++i) {
      const std::int64_t plane = first[0] + i * steps[0];
      for (std::int64_t j = 0; j < kernel[1]; ++j) {
        const std::int64_t row = first[1] + j * steps[1];
        const bool is_row_inside = is_inside(plane, x[0]) && is_inside(row, x[1]);
        for (std::int64_t k = 0; k < kernel[2]; ++k) {
          const std::int64_t column = first[2] + k * steps[2];
          *starts++ = is_row_inside && is_inside(column, x[2])
                          ? image + ((plane * x[1] + row) * x[2] + column) * channels
                          : outside;
        }
      }
    }
  }
};

struct StripConvolution {
  StripWeights weights;
  WindowPlaces places;
  std::int64_t windows = 0;  // of all images
  std::int64_t block = 0;    // windows that are computed together
  Clamp clamp = kNoClamp;
  ActivationPass activation = {};
  std::vector<float> outside = {};  // the channels of an element that x lacks

  void operator()(const RunContext& run) const {
    constexpr std::int64_t kManyBlocks = 8;  // fewer are shared out strip by strip
    const std::int64_t blocks = (windows + block - 1) / block;
    const std::int64_t shares = blocks >= kManyBlocks ? 1 : std::min(weights.strips(), kManyBlocks);
    const std::int64_t cost = std::min(block, windows) * weights.inner * weights.columns / shares;
    parallel_ranges(blocks * shares, cost, [&](std::int64_t begin, std::int64_t end) {
      std::vector<const float*> starts(block * places.taps());
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t share = i % shares;
        if (i == begin || share == 0) find_starts(run, i / shares, starts);
        multiply(run, i / shares,
                 {weights.strips() * share / shares, weights.strips() * (share + 1) / shares}, starts);
      }
    });
    activation(run);
  }

 private:
  std::int64_t windows_of(std::int64_t of) const { return std::min(block, windows - of * block); }

  void find_starts(const RunContext& run, std::int64_t of, std::vector<const float*>& starts) const {
    const auto* x = run.input(0).data<float>();
    for (std::int64_t i = 0; i < windows_of(of); ++i)
      places.find_starts(of * block + i, x, outside.data(), starts.data() + i * places.taps());
  }

  void multiply(const RunContext& run, std::int64_t of, const StripRange& range,
                const std::vector<const float*>& starts) const {
    const std::int64_t at = of * block * weights.columns;
    multiply_strips(weights,
                    {.stretched = {.starts = starts.data(), .stretches = places.taps()},
                     .rows = windows_of(of),
                     .y = run.output(0).data<float>() + at,
                     .row_y = weights.columns,
                     .bias = run.has_input(2) ? run.input(2).data<float>() : nullptr,
                     .addend = run.has_input(3) ? run.input(3).data<float>() + at : nullptr,
                     .low = clamp.low,
                     .high = clamp.high},
                    range);
  }
};

// Measured on a machine with AVX2: the library takes a quarter longer for windows that move by two, and as
// long for others; of few channels it is faster, as for windows of one element.
bool pays_by_strips(const ConvolutionPlan& plan) {
  constexpr std::int64_t kLeastChannels = 64;
  const bool is_of_one_group = plan.weights.size() == plan.x.size();
  return !kLibraryPacksProducts && is_of_one_group && plan.window.strides.size() <= kAxes &&
         std::min(plan.x[1], plan.y[1]) >= kLeastChannels && ir::element_count(plan.y) > 0 &&
         ir::element_count(plan.weights) > plan.x[1] * plan.y[1];
}

// What is read of x in a block of windows stays in a second-level cache.
std::int64_t windows_of_block(std::int64_t channels) {
  constexpr std::int64_t kBytes = 256 << 10;
  constexpr std::int64_t kLeast = 120;  // for which a weight is read once
  constexpr std::int64_t kMost = 240;
  return std::clamp(kBytes / (channels * std::int64_t{sizeof(float)}), kLeast, kMost);
}

}  // namespace

std::optional<PreparedKernel> prepare_strip_convolution(PrepareContext& context,
                                                        const ConvolutionPlan& plan) {
  if (!pays_by_strips(plan)) return std::nullopt;
  std::size_t scratch = 0;
  StripConvolution kernel{
      .weights = strips_of(context, *context.constant(1), StripSource::Taps),
      .places = WindowPlaces(plan),
      .windows = ir::element_count(plan.y) / plan.y[1],
      .block = windows_of_block(plan.x[1]),
      .clamp = plan.clamp.value_or(kNoClamp),
      .activation = ActivationPass(onednn::channels_last(plan.y), plan.activation, scratch),
      .outside = std::vector<float>(plan.x[1], 0.0F)};
  context.need_scratch(scratch);
  return kernel;
}

}  // namespace podium::kernels
