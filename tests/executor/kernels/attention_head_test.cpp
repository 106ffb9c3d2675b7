#include "executor/kernels/attention_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

std::vector<float> head_numbers(std::int64_t count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>((seed++ * 7919 + 13) % 1009) / 504.5F - 1.0F;
  return values;
}

constexpr HeadShape kShape{.positions = 150, .head = 9, .v_head = 70};
constexpr std::int64_t kRows = 20;
constexpr std::int64_t kStep = 160;  // of scores

struct Operands {
  std::vector<float> q = head_numbers(kRows * kShape.head, 1);
  std::vector<float> k = head_numbers(kShape.positions * kShape.head, 2);
  std::vector<float> v = head_numbers(kShape.positions * kShape.v_head, 3);
  // K as it lies, or with a position's features apart.
  explicit Operands(const MatrixSteps& steps_of_k = {.row = kShape.head, .column = 1})
      : products(kShape, steps_of_k, {.row = kShape.v_head, .column = 1}), packed(products.floats(), NAN) {
    products.clear(packed.data());
    products.pack(k.data(), v.data(), packed.data());
  }

  std::vector<float> scores(std::int64_t first_row, std::int64_t rows, const PositionRange& seen) const {
    std::vector<float> result(rows * kStep, -7);
    products.scores(packed.data(), {q.data() + first_row * kShape.head, kShape.head}, rows, seen,
                    {result.data(), kStep});
    return result;
  }

  HeadProducts products;
  std::vector<float> packed;
};

TEST(HeadProducts, MakeScoresOfThePositionsThatAreSeen) {
  for (const bool is_turned : {false, true}) {
    const Operands of(is_turned ? MatrixSteps{.row = 1, .column = kShape.positions}
                                : MatrixSteps{.row = kShape.head, .column = 1});
    const PositionRange seen{70, 141};
    const std::vector<float> scores = of.scores(0, kRows, seen);
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = seen.first; j < seen.last; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < kShape.head; ++l)
          sum += double{of.q[i * kShape.head + l]} *
                 of.k[is_turned ? l * kShape.positions + j : j * kShape.head + l];
        ASSERT_NEAR(scores[i * kStep + j], sum, 1e-5) << i << ", " << j;
      }
      EXPECT_EQ(scores[i * kStep + seen.last], -7);
    }
  }
}

TEST(HeadProducts, AddUpValuesOfThePositionsThatAreSeen) {
  const Operands of;
  const std::vector<float> shares = head_numbers(kRows * kStep, 4);
  for (const PositionRange& seen : {PositionRange{0, 150}, {33, 117}, {40, 40}}) {
    std::vector<float> y(kRows * kShape.v_head, NAN);
    of.products.values(of.packed.data(), {shares.data(), kStep}, kRows, seen, {y.data(), kShape.v_head});
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t e = 0; e < kShape.v_head; ++e) {
        double sum = 0;
        for (std::int64_t j = seen.first; j < seen.last; ++j)
          sum += double{shares[i * kStep + j]} * of.v[j * kShape.v_head + e];
        ASSERT_NEAR(y[i * kShape.v_head + e], sum, 1e-5) << i << ", " << e;
      }
    }
  }
}

TEST(HeadProducts, GiveARowTheSameBitsAlone) {
  const Operands of;
  const std::vector<float> together = of.scores(0, kRows, {0, 150});
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::vector<float> alone = of.scores(i, 1, {0, 150});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * kStep)) << i;
  }
}

// Three heads of Q with the same K: each row comes once, behind the packing of its own K.
TEST(HeadBlocks, TakeEachRowOnceWithTheHeadThatIsPacked) {
  constexpr std::int64_t kHeads = 6;
  constexpr std::int64_t kSharing = 3;
  constexpr std::int64_t kManyRows = 100;
  const Operands of;
  const HeadBlocks blocks(kHeads, kSharing, kManyRows, kShape);
  for (const int threads : {1, 0}) {
    const ThreadLimit limit(threads);
    std::vector<float> memory(blocks.bytes() / sizeof(float));
    std::vector<int> taken(kHeads * kManyRows, 0);
    std::vector<int> fits(kHeads * kManyRows, 0);
    blocks.run(
        of.products, memory.data(),
        [](std::int64_t head, float* packed) { packed[0] = static_cast<float>(head / kSharing); },
        [&](std::int64_t head, std::int64_t first, std::int64_t rows, const float* packed, float* scores) {
          EXPECT_LE(rows, HeadBlocks::kMostRows);
          scores[rows * blocks.score_step() - 1] = 0;
          for (std::int64_t i = first; i < first + rows; ++i) {
            ++taken[head * kManyRows + i];
            fits[head * kManyRows + i] = packed[0] == static_cast<float>(head / kSharing) ? 1 : 0;
          }
        });
    EXPECT_EQ(taken, std::vector<int>(kHeads * kManyRows, 1));
    EXPECT_EQ(fits, std::vector<int>(kHeads * kManyRows, 1));
  }
}

}  // namespace
}  // namespace podium::kernels
