// Pools on channels-last memory. Averages are oneDNN's. Its maxima forget NaN and take the lowest number for
// minus infinity, so maxima are computed here: a row of channels at a time, element by element over the
// positions that the window sees.
#include <algorithm>
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/pool_maxima.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

// The window along one axis.
struct PoolAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t step = 1;  // between elements of the window
  std::int64_t pad = 0;

  // The positions that the window of an output sees are begin, begin + step, ... below end.
  std::int64_t begin(std::int64_t o) const {
    const std::int64_t first = o * stride - pad;
    return first >= 0 ? first : first + (step - 1 - first) / step * step;
  }
  std::int64_t end(std::int64_t o) const {
    return std::min(o * stride - pad + (kernel - 1) * step + 1, input);
  }
};

// Planes of one or two axes have leading axes of one element.
struct MaxPool {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::array<PoolAxis, 3> axes = {};

  std::int64_t rows() const { return images * axes[0].output * axes[1].output; }

  void pool_one(const float* image, std::array<std::int64_t, 3> at, float* y) const {
    std::fill_n(y, channels, least_of<float>());
    for (std::int64_t d = axes[0].begin(at[0]); d < axes[0].end(at[0]); d += axes[0].step) {
      for (std::int64_t h = axes[1].begin(at[1]); h < axes[1].end(at[1]); h += axes[1].step) {
        for (std::int64_t w = axes[2].begin(at[2]); w < axes[2].end(at[2]); w += axes[2].step) {
          const float* x = image + ((d * axes[1].input + h) * axes[2].input + w) * channels;
#pragma omp simd
          for (std::int64_t c = 0; c < channels; ++c) y[c] = larger_of(y[c], x[c]);
        }
      }
    }
  }

  void operator()(const RunContext& run) const {
    const float* x = run.input(0).data<float>();
    float* y = run.output(0).data<float>();
    const std::int64_t image_size = axes[0].input * axes[1].input * axes[2].input * channels;
    const std::int64_t window = axes[0].kernel * axes[1].kernel * axes[2].kernel;
    parallel_ranges(rows(), axes[2].output * channels * window, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t plane = row / axes[1].output;
        const float* image = x + plane / axes[0].output * image_size;
        for (std::int64_t w = 0; w < axes[2].output; ++w) {
          pool_one(image, {plane % axes[0].output, row % axes[1].output, w},
                   y + (row * axes[2].output + w) * channels);
        }
      }
    });
  }
};

PreparedKernel prepare_fused_max_pool(const PrepareContext& context) {
  const ConvolutionWindow window = window_of(context);
  const ir::IntList& kernel = context.get<ir::IntList>("kernel_shape");
  const Dims& x = context.dims(0);
  const Dims& y = context.output(0).dims;
  MaxPool pool{.images = x.front(), .channels = x.back()};
  IR_CHECK(kernel.size() <= pool.axes.size(), "a fused pool has {} axes", kernel.size());
  const std::size_t first = pool.axes.size() - kernel.size();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    pool.axes[first + i] = {.input = x[i + 1],
                            .output = y[i + 1],
                            .kernel = kernel[i],
                            .stride = window.strides[i],
                            .step = window.dilations[i] + 1,
                            .pad = window.pads_begin[i]};
  }
  return pool;
}

PreparedKernel prepare_fused_average_pool(PrepareContext& context, dnnl::algorithm algorithm) {
  const ConvolutionWindow window = window_of(context);
  const auto x = onednn::channels_last(logical_dims(context.dims(0)));
  const auto y = onednn::channels_last(logical_dims(context.output(0).dims));
  const dnnl::pooling_v2_forward::desc description(dnnl::prop_kind::forward_inference, algorithm, x, y,
                                                   window.strides, context.get<ir::IntList>("kernel_shape"),
                                                   window.dilations, window.pads_begin, window.pads_end);
  const dnnl::pooling_v2_forward::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return [call = onednn::make_call(dnnl::pooling_v2_forward(primitive), primitive,
                                   {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}})](const RunContext& run) {
    (*call)(std::array<const void*, 3>{run.input(0).raw(), run.output(0).raw(), run.scratch_memory});
  };
}

}  // namespace

PreparedKernel prepare_fused_pool(PrepareContext& context) {
  const std::string& kind = context.get_string("kind");
  if (kind == "max") return prepare_fused_max_pool(context);
  return prepare_fused_average_pool(context, kind == "average"
                                                 ? dnnl::algorithm::pooling_avg_exclude_padding
                                                 : dnnl::algorithm::pooling_avg_include_padding);
}

}  // namespace podium::kernels
