#include "executor/kernels/block_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ir/element.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

std::vector<float> rounded(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  round_to_blocks(x.data(), y.data(), 1, std::ssize(x), 1);
  return y;
}

// By the conversions of Cast.
std::vector<float> by_casts(const std::vector<float>& x) {
  float largest = 0;
  for (const float value : x) largest = std::max(largest, std::abs(value));
  const float scale = std::ldexp(1.0F, std::ilogb(largest) - 8);
  std::vector<float> y;
  for (const float value : x) {
    const std::uint8_t bits = ir::float_to_small(value / scale, ir::DataType::Float8E4M3FN, true);
    y.push_back(ir::small_to_float(bits, ir::DataType::Float8E4M3FN) * scale);
  }
  return y;
}

TEST(RoundToBlocks, GivesWhatCastsGiveOfNumbersByTheBlocksPower) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> block(32);
    const float scale = std::ldexp(1.0F, trial % 60 - 30);
    // Some are small beside the largest: they become multiples of the smallest number.
    for (std::size_t i = 0; i < block.size(); ++i)
      block[i] = normal(random) * scale * std::ldexp(1.0F, -static_cast<int>(i % 20));
    EXPECT_THAT(rounded(block), ElementsAreArray(by_casts(block)));
  }
}

TEST(RoundToBlocks, GivesEachBlockAPowerOfItsOwn) {
  std::vector<float> x(33, 1.0F);
  x[0] = 4096;  // beside which 1 is below the smallest number but one
  x[32] = 1.0625F;
  const std::vector<float> y = rounded(x);
  EXPECT_EQ(y[0], 4096);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[32], 1);  // half way between 1 and 1.125, to even
}

TEST(RoundToBlocks, LeavesABlockWithAnInfinityOrNan) {
  std::vector<float> x(64, 1.03F);
  x[3] = testing::kInfinity;
  const std::vector<float> y = rounded(x);
  EXPECT_EQ(y[0], 1.03F);
  EXPECT_EQ(y[3], testing::kInfinity);
  EXPECT_EQ(y[40], 1);
  x[3] = testing::kNan;
  EXPECT_EQ(rounded(x)[0], 1.03F);
}

TEST(RoundToBlocks, RoundsZerosToZeros) { EXPECT_THAT(rounded(std::vector<float>(40, 0.0F)), Each(0.0F)); }

TEST(RoundToBlocks, GoesAlongItsAxisWhateverIsBesideIt) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> x(3 * 40 * 21);
  for (float& value : x) value = normal(random);
  std::vector<float> along(x.size());
  round_to_blocks(x.data(), along.data(), 3, 40, 21);
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    for (std::int64_t column = 0; column < 21; ++column) {
      std::vector<float> line;
      std::vector<float> found;
      for (std::int64_t i = 0; i < 40; ++i) {
        line.push_back(x[(sample * 40 + i) * 21 + column]);
        found.push_back(along[(sample * 40 + i) * 21 + column]);
      }
      EXPECT_THAT(found, ElementsAreArray(rounded(line)));
    }
  }
}

}  // namespace
}  // namespace podium::kernels
