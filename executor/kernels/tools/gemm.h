// Products of row-major matrices, for kernels that need one inside. The same bits on any number of threads.
#pragma once

#include <cstdint>
#include <functional>

namespace podium::kernels {

/// C[m,n] = op(A)[m,k] op(B)[k,n], where op transposes or not.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;  ///< A lies as [k,m]
  bool transpose_b = false;  ///< B lies as [n,k]
  std::int64_t row_a = 0;    ///< elements from one stored row to the next; 0: no gaps
  std::int64_t row_b = 0;
  std::int64_t row_c = 0;

  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// C = alpha * product + beta * C. With beta 0, C need not be initialised. Unsigned integers wrap, so signed
/// ones of the same size can be multiplied as unsigned.
void multiply(const Product& product, const float* a, const float* b, float* c, float alpha = 1,
              float beta = 0);
void multiply(const Product& product, const double* a, const double* b, double* c, double alpha = 1,
              double beta = 0);
void multiply(const Product& product, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* c,
              std::uint32_t alpha = 1, std::uint32_t beta = 0);
void multiply(const Product& product, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* c,
              std::uint64_t alpha = 1, std::uint64_t beta = 0);

/// Whether oneDNN's products of bytes are exact on this processor: without VNNI instructions they saturate.
bool has_exact_byte_products();

/// C = A B for bytes of either sign; sums wrap in 32 bits. Only row-major operands without transposition.
template <class A, class B>
void multiply_bytes(const Product& product, const A* a, const B* b, std::int32_t* c);

/// Calls `one(i)` for i in [0, count), side by side when that pays: `flop` is the cost of one call.
void for_each_product(std::int64_t count, double flop, const std::function<void(std::int64_t)>& one);

}  // namespace podium::kernels
