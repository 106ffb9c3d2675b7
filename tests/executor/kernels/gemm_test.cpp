#include "executor/kernels/tools/gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

std::vector<float> random_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / (1U << 23) - 1.0F;
  }
  return values;
}

struct Operands {
  Product product;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;

  // Rows have a gap behind them.
  explicit Operands(Product of) : product(of) {
    Product& p = product;
    p.row_a = (p.transpose_a ? p.m : p.k) + 3;
    p.row_b = (p.transpose_b ? p.k : p.n) + 1;
    p.row_c = p.n + 2;
    a = random_numbers(p.row_a * (p.transpose_a ? p.k : p.m), 1);
    b = random_numbers(p.row_b * (p.transpose_b ? p.n : p.k), 2);
    c = random_numbers(p.row_c * p.m, 3);
  }

  std::vector<float> multiplied(int threads) const {
    const ThreadLimit limit(threads);
    std::vector<float> result = c;
    multiply(product, a.data(), b.data(), result.data(), 0.5F, 2.0F);
    return result;
  }

  double expected(std::int64_t row, std::int64_t column) const {
    const Product& p = product;
    double sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double left = a[at(p.transpose_a ? k * p.row_a + row : row * p.row_a + k)];
      sum += left * b[at(p.transpose_b ? column * p.row_b + k : k * p.row_b + column)];
    }
    return 0.5 * sum + 2.0 * c[at(row * p.row_c + column)];
  }

  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
};

// Rows whose lengths sgemm is slow for, so that blocks of strips compute these without AVX-512: of several
// blocks of columns and of inner elements, the last of which are not whole.
TEST(Multiply, AddsUpBlocksOfStrips) {
  const std::vector<Product> products{
      {.m = 140, .n = 700, .k = 600, .transpose_a = true, .row_a = 512, .row_b = 700, .row_c = 701},
      {.m = 130,
       .n = 150,
       .k = 520,
       .transpose_a = true,
       .transpose_b = true,
       .row_a = 768,
       .row_b = 520,
       .row_c = 150},
      {.m = 150, .n = 600, .k = 530, .row_a = 531, .row_b = 1024, .row_c = 600}};
  for (const Product& p : products) {
    const std::vector<float> a = random_numbers(p.row_a * (p.transpose_a ? p.k : p.m), 1);
    const std::vector<float> b = random_numbers(p.row_b * (p.transpose_b ? p.n : p.k), 2);
    const std::vector<float> before = random_numbers(p.row_c * p.m, 3);
    for (const float beta : {0.0F, 1.0F}) {
      std::vector<float> on_all = before;
      multiply(p, a.data(), b.data(), on_all.data(), 1, beta);
      {
        const ThreadLimit limit(1);
        std::vector<float> on_one = before;
        multiply(p, a.data(), b.data(), on_one.data(), 1, beta);
        EXPECT_EQ(on_one, on_all);
      }
      for (std::int64_t row = 0; row < p.m; ++row) {
        for (std::int64_t column = 0; column < p.n; ++column) {
          const auto at = static_cast<std::size_t>(row * p.row_c + column);
          double wanted = beta * before[at];
          for (std::int64_t k = 0; k < p.k; ++k) {
            const std::int64_t left = p.transpose_a ? k * p.row_a + row : row * p.row_a + k;
            const std::int64_t right = p.transpose_b ? column * p.row_b + k : k * p.row_b + column;
            wanted += double{a[static_cast<std::size_t>(left)]} * b[static_cast<std::size_t>(right)];
          }
          ASSERT_NEAR(on_all[at], wanted, 1e-4) << row << ", " << column;
        }
      }
      for (std::int64_t column = p.n; column < p.row_c; ++column) {
        const auto gap = static_cast<std::size_t>(column);
        EXPECT_EQ(on_all[gap], before[gap]);
      }
    }
  }
}

// oneDNN adds up the first three in other orders on one thread and on two.
const std::vector<Product> kProducts{
    {.m = 1, .n = 128, .k = 256},
    {.m = 64, .n = 1, .k = 512, .transpose_a = true, .transpose_b = true},
    {.m = 33, .n = 200, .k = 1000, .transpose_b = true},
    {.m = 70, .n = 90, .k = 300},
    {.m = 90, .n = 17, .k = 500, .transpose_a = true},
    {.m = 3, .n = 700, .k = 200, .transpose_a = true, .transpose_b = true},
    {.m = 5, .n = 4, .k = 3},
};

TEST(Multiply, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Product& product : kProducts) {
    const Operands operands(product);
    const std::vector<float> one = operands.multiplied(1);
    for (int threads = 2; threads <= 4; ++threads) {
      EXPECT_EQ(operands.multiplied(threads), one)
          << product.m << "x" << product.n << "x" << product.k << " on " << threads;
    }
  }
}

TEST(Multiply, IsRightInEveryFormAndLeavesGapsAlone) {
  for (const Product& product : kProducts) {
    const Operands operands(product);
    const std::vector<float> found = operands.multiplied(2);
    const std::int64_t row_c = operands.product.row_c;
    for (std::int64_t i = 0; i < std::ssize(found); ++i) {
      const bool is_gap = i % row_c >= product.n;
      const double expected = is_gap ? operands.c[Operands::at(i)] : operands.expected(i / row_c, i % row_c);
      ASSERT_NEAR(found[Operands::at(i)], expected, is_gap ? 0 : 1e-4) << product.m << " at " << i;
    }
  }
}

}  // namespace
}  // namespace podium::kernels
