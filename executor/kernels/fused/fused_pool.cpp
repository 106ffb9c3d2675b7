// Pools on channels-last memory. Averages are oneDNN's. Its maxima forget NaN and take the lowest number for
// minus infinity, so maxima are computed here: as many channels of an output at a time as a register holds,
// over the positions that its window sees. Windows beside each other see the same positions, moved.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/pool_maxima.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

// The positions along one axis that the window of an output sees: begin, begin + step, ... below end.
struct Seen {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The window along one axis.
struct PoolAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t step = 1;  // between elements of the window
  std::int64_t pad = 0;

  Seen seen(std::int64_t o) const {
    const std::int64_t first = o * stride - pad;
    return {.begin = first >= 0 ? first : first + (step - 1 - first) / step * step,
            .end = std::min(first + (kernel - 1) * step + 1, input)};
  }
};

// Planes of one or two axes have leading axes of one element.
struct MaxPool {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::array<PoolAxis, 3> axes = {};

  std::int64_t rows() const { return images * axes[0].output * axes[1].output; }

  // Where the elements that a window sees lie behind the image's begin.
  void find_seen(const std::array<Seen, 3>& seen, std::vector<std::int64_t>& offsets) const {
    offsets.clear();
    for (std::int64_t d = seen[0].begin; d < seen[0].end; d += axes[0].step) {
      for (std::int64_t h = seen[1].begin; h < seen[1].end; h += axes[1].step) {
        const std::int64_t row = (d * axes[1].input + h) * axes[2].input;
        for (std::int64_t w = seen[2].begin; w < seen[2].end; w += axes[2].step)
          offsets.push_back((row + w) * channels);
      }
    }
  }

  // The largest of so many channels stay in a register while the window goes by; NaN is larger than any
  // number. The last channels are done in one piece with some that are done already: a maximum stays what it
  // is.
  template <class Lanes>
  void pool_pieces(const float* x, std::span<const std::int64_t> offsets, float* y) const {
    constexpr std::int64_t kCount = sizeof(Lanes) / sizeof(float);
    for (std::int64_t c = 0; c < channels; c += kCount) {
      const std::int64_t first = std::min(c, channels - kCount);
      Lanes largest = Lanes{} + least_of<float>();
      for (std::int64_t offset : offsets) {
        Lanes value;
        std::memcpy(&value, x + offset + first, sizeof value);
        largest = (value > largest) | (value != value) ? value : largest;
      }
      std::memcpy(y + first, &largest, sizeof largest);
    }
  }

  void pool_one(const float* x, std::span<const std::int64_t> offsets, float* y) const {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
#if defined(__AVX512F__)  // of vectors that the processor lacks, lanes would be compared one by one
    typedef float Sixteen __attribute__((vector_size(64)));
    if (channels >= 16) return pool_pieces<Sixteen>(x, offsets, y);
#endif
    if (channels >= 8) return pool_pieces<Eight>(x, offsets, y);
    if (channels >= 4) return pool_pieces<Four>(x, offsets, y);
    pool_pieces<float>(x, offsets, y);
  }

  // A row of outputs. The next window sees the same elements `stride` further where neither meets an end.
  void pool_row(const float* image, std::int64_t d, std::int64_t h, float* y,
                std::vector<std::int64_t>& offsets) const {
    std::array<Seen, 3> seen{axes[0].seen(d), axes[1].seen(h)};
    const PoolAxis& axis = axes[2];
    const float* x = image;
    for (std::int64_t w = 0; w < axis.output; ++w) {
      const Seen before = std::exchange(seen[2], axis.seen(w));
      const bool has_moved =
          w > 0 && seen[2].begin == before.begin + axis.stride && seen[2].end == before.end + axis.stride;
      x = has_moved ? x + axis.stride * channels : image;
      if (!has_moved) find_seen(seen, offsets);
      pool_one(x, offsets, y + w * channels);
    }
  }

  // One window that sees every position: a few channels at a time, whose lines of memory follow each other,
  // go through the image. Maxima are the same in any order.
  void pool_images(const float* x, float* y) const {
    constexpr std::int64_t kChannels = 128;
    const std::int64_t positions = axes[0].input * axes[1].input * axes[2].input;
    const std::int64_t pieces = (channels + kChannels - 1) / kChannels;
    parallel_ranges(images * pieces, positions * kChannels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i % pieces * kChannels;
        const std::int64_t count = std::min(kChannels, channels - first);
        const float* from = x + i / pieces * positions * channels + first;
        std::array<float, kChannels> largest;
        largest.fill(least_of<float>());
        for (std::int64_t at = 0; at < positions; ++at) {
#pragma omp simd
          for (std::int64_t c = 0; c < count; ++c)
            largest[c] = larger_of(largest[c], from[at * channels + c]);
        }
        std::copy_n(largest.data(), count, y + i / pieces * channels + first);
      }
    });
  }

  bool sees_all() const {
    return std::ranges::all_of(axes, [](const PoolAxis& axis) {
      return axis.output == 1 && axis.kernel == axis.input && axis.step == 1 && axis.pad == 0;
    });
  }

  void operator()(const RunContext& run) const {
    const float* x = run.input(0).data<float>();
    float* y = run.output(0).data<float>();
    if (sees_all()) return pool_images(x, y);
    const std::int64_t image_size = axes[0].input * axes[1].input * axes[2].input * channels;
    const std::int64_t window = axes[0].kernel * axes[1].kernel * axes[2].kernel;
    parallel_ranges(rows(), axes[2].output * channels * window, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> offsets;
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t plane = row / axes[1].output;
        pool_row(x + plane / axes[0].output * image_size, plane % axes[0].output, row % axes[1].output,
                 y + row * axes[2].output * channels, offsets);
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
