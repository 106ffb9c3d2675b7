// What kernels with vectors along the rows of images share.
#pragma once

#include <cstdint>
#include <cstring>

#include "executor/kernels/tools/even_tiles.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {

typedef float RowVector __attribute__((vector_size(ir::kRowLanes * sizeof(float))));
typedef std::int32_t RowMask __attribute__((vector_size(ir::kRowLanes * sizeof(float))));

/// Vectors of sums that a tile keeps: registers without those for X and a weight.
#ifdef __AVX512VL__
inline constexpr int kRowAccumulators = 20;
#else
inline constexpr int kRowAccumulators = 12;
#endif

inline RowVector load_row(const float* from) {
  RowVector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

inline RowVector all_lanes(float number) {
  return RowVector{number, number, number, number, number, number, number, number};
}

/// The first lanes, as many as `count`; all of them where it is larger.
inline RowMask lanes_before(std::int64_t count) {
  RowMask mask{};
  for (std::int64_t lane = 0; lane < ir::kRowLanes; ++lane) mask[lane] = lane < count ? -1 : 0;
  return mask;
}

/// Zeros in the lanes that the mask leaves out.
inline RowVector only(RowMask mask, RowVector vector) {
  return reinterpret_cast<RowVector>(reinterpret_cast<RowMask>(vector) & mask);
}

/// The sum of the lanes, first to last.
inline float sum_of_lanes(RowVector vector) {
  float sum = 0;
  for (std::int64_t lane = 0; lane < ir::kRowLanes; ++lane) sum += vector[lane];
  return sum;
}

/// One axis of a window that goes from X to Y at these steps.
struct RowAxis {
  std::int64_t input = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;  ///< at the begin
  std::int64_t output = 1;

  std::int64_t seen() const { return (output - 1) * stride + (kernel - 1) * dilation + 1; }
  bool has_padding() const { return pad > 0 || seen() > input; }
};

/// Axis number `from_last`, the last one being 0. An axis that the window lacks has one element.
inline RowAxis row_axis(const ir::Window& window, std::size_t from_last) {
  if (from_last >= window.rank()) return {};
  const std::size_t axis = window.rank() - 1 - from_last;
  return {.input = window.input[axis],
          .kernel = window.kernel[axis],
          .stride = window.strides[axis],
          .dilation = window.dilations[axis],
          .pad = window.pads_begin[axis],
          .output = window.output[axis]};
}

/// Where a vector of results lies in what is written, and what its first tap sees in what is read.
struct RowPlace {
  std::int64_t to = 0;
  std::int64_t from = 0;
};

}  // namespace podium::kernels
