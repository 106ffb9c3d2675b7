// Where a window of one element moves by more than one, most of X is not looked at: what is left is brought
// together first, and is convolved by a window that moves by one, whose product needs no layout of its own.
// A transposed convolution gives such a product, whose results are spread over Y. Where images are joined,
// what is brought together lies channel by channel, the images of each side by side.
#include "executor/kernels/conv_pointwise.h"

#include <algorithm>
#include <array>
#include <utility>

#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

using Sizes = std::array<std::int64_t, 3>;  // of the axes, before them ones

Sizes sizes_of(const Dims& dims) {
  Sizes sizes{1, 1, 1};
  std::copy(dims.begin(), dims.end(), sizes.end() - std::ssize(dims));
  return sizes;
}

enum class Order { ByImages, ByChannels };

// The elements of a tensor that the window stands on.
struct Kept {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  Sizes all = {};
  Sizes kept = {};
  Sizes strides = {1, 1, 1};
  Order order = Order::ByImages;

  std::int64_t all_size() const { return all[0] * all[1] * all[2]; }
  std::int64_t kept_size() const { return kept[0] * kept[1] * kept[2]; }
  std::size_t bytes() const { return onednn::aligned(images * channels * kept_size() * sizeof(float)); }

  // Calls row(first of all, first of the kept ones) for each row of kept elements, on every thread.
  template <class Row>
  void for_each_row(const Row& row) const {
    parallel_ranges(images * channels, all_size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const std::int64_t place =
            order == Order::ByImages ? plane : plane % channels * images + plane / channels;
        for (std::int64_t i = 0; i < kept[0]; ++i) {
          for (std::int64_t k = 0; k < kept[1]; ++k) {
            row(plane * all_size() + (i * strides[0] * all[1] + k * strides[1]) * all[2],
                place * kept_size() + (i * kept[1] + k) * kept[2]);
          }
        }
      }
    });
  }
};

// Of the side that has elements between: X, transposed Y.
Kept wide_side(const ConvShape& shape, Order order) {
  const ir::Window& window = shape.window;
  const bool is_y = shape.transposed;
  return {.images = shape.batch,
          .channels = is_y ? shape.out_channels : shape.in_channels,
          .all = sizes_of(is_y ? window.output : window.input),
          .kept = sizes_of(is_y ? window.input : window.output),
          .strides = sizes_of(window.strides),
          .order = order};
}

// Of the other one, of which all are kept.
Kept narrow_side(const ConvShape& shape, Order order) {
  const Sizes sizes = sizes_of(shape.transposed ? shape.window.input : shape.window.output);
  return {.images = shape.batch,
          .channels = shape.transposed ? shape.in_channels : shape.out_channels,
          .all = sizes,
          .kept = sizes,
          .order = order};
}

void bring(const Kept& kept, const float* all, float* to) {
  const std::int64_t step = kept.strides[2];
  kept.for_each_row([&](std::int64_t from, std::int64_t at) {
    for (std::int64_t i = 0; i < kept.kept[2]; ++i) to[at + i] = all[from + i * step];
  });
}

// Elements between are the bias of their channel, which the others have.
void give(const Kept& kept, const float* from, const float* bias, float* all) {
  const std::int64_t step = kept.strides[2];
  if (kept.all != kept.kept) {
    parallel_ranges(kept.images * kept.channels, kept.all_size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane)
        std::fill_n(all + plane * kept.all_size(), kept.all_size(),
                    bias == nullptr ? 0.0F : bias[plane % kept.channels]);
    });
  }
  kept.for_each_row([&](std::int64_t to, std::int64_t at) {
    for (std::int64_t i = 0; i < kept.kept[2]; ++i) all[to + i * step] = from[at + i];
  });
}

bool are(const Dims& numbers, std::int64_t wanted) {
  return std::ranges::all_of(numbers, [&](std::int64_t number) { return number == wanted; });
}

float* floats(std::byte* memory) { return reinterpret_cast<float*>(memory); }

}  // namespace

bool skips(const ConvShape& shape) { return ir::has_one_element(shape) && !are(shape.window.strides, 1); }

ConvShape without_skipped(const ConvShape& shape) {
  ConvShape dense = shape;
  if (shape.transposed) {
    dense.window.output = shape.window.input;
    dense.out_size = shape.in_size;
  } else {
    dense.window.input = shape.window.output;
    dense.in_size = shape.out_size;
  }
  std::ranges::fill(dense.window.strides, 1);
  std::ranges::fill(dense.window.pads_end, 0);
  return dense;
}

FloatConv make_skipping_conv(const ConvShape& shape, FloatConv dense) {
  const Kept kept = wide_side(shape, Order::ByImages);
  const bool is_y = shape.transposed;
  return {kept.bytes() + dense.scratch_bytes,
          [kept, is_y, dense = std::move(dense.run)](const float* x, const float* w, const float* bias,
                                                     float* y, std::byte* scratch) {
            std::byte* const own = scratch + kept.bytes();
            if (!is_y) bring(kept, x, floats(scratch));
            dense(is_y ? x : floats(scratch), w, bias, is_y ? floats(scratch) : y, own);
            if (is_y) give(kept, floats(scratch), bias, y);
          }};
}

FloatWeightGradient make_skipping_weight_gradient(const ConvShape& shape, FloatWeightGradient dense) {
  const Kept kept = wide_side(shape, Order::ByImages);
  return {kept.bytes() + dense.scratch_bytes,
          [kept, dense = std::move(dense.run)](const float* x, const float* flow, float* weights,
                                               std::byte* scratch) {
            bring(kept, x, floats(scratch));
            dense(floats(scratch), flow, weights, scratch + kept.bytes());
          }};
}

ConvShape with_joined_images(const ConvShape& shape) {
  ConvShape joined = shape;
  const std::int64_t columns = shape.batch * (shape.transposed ? shape.in_size : shape.out_size);
  const Dims one{1};
  const Dims all{columns};
  joined.window = {.input = all,
                   .kernel = one,
                   .strides = one,
                   .dilations = one,
                   .pads_begin = {0},
                   .pads_end = {0},
                   .output = all};
  joined.batch = 1;
  joined.in_size = joined.out_size = columns;
  return joined;
}

FloatConv make_joined_conv(const ConvShape& shape, FloatConv dense) {
  Kept x = wide_side(shape, Order::ByChannels);
  Kept y = narrow_side(shape, Order::ByChannels);
  if (shape.transposed) std::swap(x, y);
  return {x.bytes() + y.bytes() + dense.scratch_bytes,
          [x, y, dense = std::move(dense.run)](const float* from, const float* w, const float* bias,
                                               float* to, std::byte* scratch) {
            std::byte* const results = scratch + x.bytes();
            bring(x, from, floats(scratch));
            dense(floats(scratch), w, bias, floats(results), results + y.bytes());
            give(y, floats(results), bias, to);
          }};
}

FloatWeightGradient make_joined_weight_gradient(const ConvShape& shape) {
  const Kept x = wide_side(shape, Order::ByChannels);
  const Kept flow = narrow_side(shape, Order::ByChannels);
  const Product product{
      .m = shape.out_channels, .n = shape.in_channels, .k = shape.batch * x.kept_size(), .transpose_b = true};
  return {x.bytes() + flow.bytes(),
          [x, flow, product](const float* from, const float* flow_from, float* weights, std::byte* scratch) {
            bring(x, from, floats(scratch));
            bring(flow, flow_from, floats(scratch + x.bytes()));
            multiply(product, floats(scratch + x.bytes()), floats(scratch), weights);
          }};
}

}  // namespace podium::kernels
