// Compares results with expected ones, as ONNX's own runner does.
#pragma once

#include <cstdint>
#include <string>

#include "ir/datum.h"

namespace podium::compare {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
  double of_largest = 0;  ///< times the largest expected number of the tensor
};

struct Comparison {
  std::string reason = {};        ///< what differs, how many and the worst of them; empty when they agree
  double largest_error = 0;       ///< of |found - expected| over all numbers
  double largest_number = 0;      ///< of |expected|, where it is finite
  std::int64_t differing = 0;     ///< elements beyond the tolerance
  bool is_of_other_type = false;  ///< or shape, or number of items: no element is compared
  bool is_rounding = false;       ///< all that differs is a few units in the last place of the largest number
  bool agrees() const { return reason.empty(); }
};

/// Types and shapes exactly, values by tolerance (|found - expected| <= absolute + relative * |expected| +
/// of_largest * largest |expected|), NaN equal NaN, strings exactly.
Comparison compare_results(const ir::Datum& found, const ir::Datum& expected, const Tolerance& tolerance);

/// The largest |a - b| / max(1, |b|) over the elements of two tensors of real numbers with as many elements;
/// NaN equals NaN, and is infinitely far from anything else.
double largest_difference(const ir::Tensor& a, const ir::Tensor& b);

/// Element `i` of a tensor of real numbers, for showing. Error for strings and complex numbers.
double element_as_double(const ir::Tensor& tensor, std::int64_t i);

}  // namespace podium::compare
