// Products of bytes with zero points, as MatMulInteger and QLinearMatMul have them.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "executor/kernels/matmul_parts.h"

namespace podium::kernels {

/// A scale or zero point: one number, one for each row (column) of the matrix, or one for each row (column)
/// of every matrix of the batch. `index` counts rows (columns) over the batch; a shorter list repeats.
template <class T>
struct Repeated {
  std::vector<T> values{T{0}};
  T operator[](std::int64_t index) const { return values[index % values.size()]; }
  /// Those of one matrix: `count` of them from `first` on.
  std::vector<T> stretch(std::int64_t first, std::int64_t count) const {
    std::vector<T> result(count, values[0]);
    if (values.size() == 1) return result;
    for (std::int64_t i = 0; i < count; ++i) result[i] = (*this)[first + i];
    return result;
  }
  bool is_zero() const {
    return std::all_of(values.begin(), values.end(), [](T value) { return value == T{0}; });
  }
};

/// (A - a)(B - b) modulo 2^32 for bytes of either sign, matrix by matrix of the plan.
using IntegerProducts = std::function<void(const RunContext& run, const Tensor& a, const Tensor& b,
                                           const Repeated<std::int32_t>& zero_a,
                                           const Repeated<std::int32_t>& zero_b, std::int32_t* c)>;

/// Inputs `a` and `b` of the op are int8 or uint8. A constant matrix B is packed here, once for all runs; the
/// products then never look at B again. They take scratch memory behind the `scratch` bytes that their caller
/// needs for itself, and ask for both.
IntegerProducts prepare_integer_products(PrepareContext& context, BatchedProduct plan, std::size_t a,
                                         std::size_t b, std::size_t scratch);

}  // namespace podium::kernels
