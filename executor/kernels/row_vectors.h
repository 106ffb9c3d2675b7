// What kernels with vectors along the rows of images share.
#pragma once

#include <cstdint>
#include <cstring>

#include "executor/kernels/tools/even_tiles.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {

typedef float RowVector __attribute__((vector_size(ir::kRowLanes * sizeof(float))));
typedef std::int32_t RowMask __attribute__((vector_size(ir::kRowLanes * sizeof(float))));

/// Registers of sums that a tile keeps, without those for X and a weight.
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

/// What a register holds: with AVX-512 the vectors of two places.
#ifdef __AVX512F__
inline constexpr int kPlacesOfRegister = 2;
#else
inline constexpr int kPlacesOfRegister = 1;
#endif
typedef float RowRegister __attribute__((vector_size(kPlacesOfRegister * ir::kRowLanes * sizeof(float))));
typedef std::int32_t RegisterMask __attribute__((vector_size(sizeof(RowRegister))));

/// The vectors at `offset` behind each of so many places.
inline RowRegister load_places(const float* const* from, std::int64_t offset) {
#ifdef __AVX512F__
  return __builtin_shufflevector(load_row(from[0] + offset), load_row(from[1] + offset), 0, 1, 2, 3, 4, 5, 6,
                                 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  return load_row(from[0] + offset);
#endif
}

/// That of one of the places.
inline RowVector vector_of(const RowRegister& all, int place) {
  RowVector vector;
  std::memcpy(&vector, reinterpret_cast<const char*>(&all) + place * sizeof vector, sizeof vector);
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

/// Zeros in the lanes that the mask leaves out; of a vector or a register.
template <class Mask, class Vector>
Vector only(Mask mask, Vector vector) {
  return reinterpret_cast<Vector>(reinterpret_cast<Mask>(vector) & mask);
}

/// The sum of the lanes, first to last.
template <class Vector>
float sum_of_lanes(Vector vector) {
  float sum = 0;
  for (std::size_t lane = 0; lane < sizeof vector / sizeof sum; ++lane) sum += vector[lane];
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
