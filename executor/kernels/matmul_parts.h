// The parts that the files of the matmul family share.
#pragma once

#include <vector>

#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// A MatMul as products of matrices: product i reads A from element a[i] and B from element b[i] and writes
/// C, without gaps, from element i * m * n.
struct BatchedProduct {
  Product product;
  std::vector<std::int64_t> a;
  std::vector<std::int64_t> b;
  std::int64_t count() const { return std::ssize(a); }
};

/// Broadcasts the batch axes. One matrix B for all of A becomes one product with more rows.
BatchedProduct plan_matmul(const Dims& a, const Dims& b);

template <class A, class B, class C, class Multiply>
void run_products(const BatchedProduct& plan, const A* a, const B* b, C* c, const Multiply& one) {
  const std::int64_t matrix = plan.product.m * plan.product.n;
  for_each_product(plan.count(), plan.product.flop(),
                   [&](std::int64_t i) { one(plan.product, a + plan.a[i], b + plan.b[i], c + i * matrix); });
}

PreparedKernel prepare_matmul_integer(PrepareContext& context);
PreparedKernel prepare_qlinear_matmul(PrepareContext& context);
PreparedKernel prepare_einsum(PrepareContext& context);
PreparedKernel prepare_det(PrepareContext& context);

}  // namespace podium::kernels
