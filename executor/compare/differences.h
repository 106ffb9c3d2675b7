// Two tensors element by element, to the bit.
#pragma once

#include <cstdint>

#include "ir/tensor.h"

namespace podium::compare {

struct Differences {
  std::int64_t numbers = 0;  ///< elements that are other numbers; NaN is another number than any other
  std::int64_t zeros = 0;    ///< zeros of other signs
  std::int64_t nans = 0;     ///< NaN in both, of other bits
  std::int64_t worst = -1;   ///< the element that differs most; where only zeros do, the first of them
  double largest = 0;        ///< |a - b| there; infinite where one is no finite number

  bool any() const { return numbers > 0 || zeros > 0; }
};

/// Of tensors of one type and shape, which hold real numbers.
Differences differences(const ir::Tensor& found, const ir::Tensor& expected);

/// The element that differs by the most times its bound, if any differs by more than its bound; else -1.
/// Elements that are not finite numbers in both differ by more than any bound, unless they are equal, or NaN
/// in both; but of infinite summands, whose bound is not finite, one order gives an infinity and another a
/// NaN, so that nothing is said of an element that is expected not to be finite. `bounds` are doubles.
std::int64_t first_beyond(const ir::Tensor& found, const ir::Tensor& expected, const ir::Tensor& bounds);

}  // namespace podium::compare
