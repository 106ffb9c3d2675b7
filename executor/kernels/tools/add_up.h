// Tensors that are alike put together element by element, term by term in the order given: what a collective
// computes.
#pragma once

#include <span>

#include "ir/tensor.h"

namespace podium::kernels {

/// What becomes of the elements at one place.
enum class Combine : std::uint8_t { Sum, Mean, Largest };

/// Some elements of a tensor: `count` adjacent ones from `first` on in each of `rows` rows, which are `row`
/// elements long.
struct Stretch {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t rows = 1;
  std::int64_t row = 0;
};

/// Writes what becomes of this stretch of the terms to the first elements of `result`. Floats narrower than
/// float are added in float and rounded once. Error for elements that cannot be added.
void add_up(std::span<const ir::Tensor* const> terms, Combine how, const Stretch& stretch,
            ir::Tensor& result);

/// The whole of the tensors put together.
void reduce(std::span<const ir::Tensor* const> terms, Combine how, ir::Tensor& result);
/// The part that begins at index `first` along an axis, as large as `part` is.
void reduce_part(std::span<const ir::Tensor* const> terms, Combine how, std::int64_t axis, std::int64_t first,
                 ir::Tensor& part);
/// Parts that follow each other along an axis.
void gather(std::span<const ir::Tensor* const> parts, std::int64_t axis, ir::Tensor& whole);
/// Along another axis a share of each of them that begins at index `first`, as large as `result` is there.
struct Share {
  std::int64_t axis = 0;
  std::int64_t first = 0;
};
void gather_share(std::span<const ir::Tensor* const> parts, std::int64_t axis, const Share& share,
                  ir::Tensor& result);

}  // namespace podium::kernels
