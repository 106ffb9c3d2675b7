#include "executor/kernels/tools/strip_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>((seed++ * 7919 + 13) % 1009) / 504.5F - 1.0F;
  return values;
}

constexpr std::int64_t kInner = 37;
constexpr std::int64_t kColumns = 3 * kStrip + 5;
constexpr std::int64_t kRowY = kColumns + 3;

struct Operands {
  std::vector<float> x;
  std::vector<float> w = numbers(kInner * kColumns, 2);
  std::vector<float> bias = numbers(kColumns, 3);
  std::vector<float> y;
  std::int64_t rows;

  explicit Operands(std::int64_t count)
      : x(numbers(count * kInner, 1)), y(numbers(count * kRowY, 4)), rows(count) {}

  std::vector<float> multiplied(StripOrder order = StripOrder::Forth) const {
    std::vector<float> result = y;
    const StripOperands operands{.x = x.data(),
                                 .rows = rows,
                                 .y = result.data(),
                                 .row_y = kRowY,
                                 .bias = bias.data(),
                                 .addend = result.data()};
    multiply_strips(strips_of(MatrixOfFloats::plain(w.data(), kInner, kColumns)), operands, order);
    return result;
  }
};

TEST(StripProducts, AddWhatTheyAreToldTo) {
  for (std::int64_t rows = 1; rows <= 2 * kMostStripRows + 1; ++rows) {
    const Operands of(rows);
    const std::vector<float> found = of.multiplied();
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < kRowY; ++column) {
        const std::size_t at = row * kRowY + column;
        double wanted = of.y[at];  // between the rows nothing is written
        if (column < kColumns) {
          wanted += of.bias[column];
          for (std::int64_t l = 0; l < kInner; ++l)
            wanted += double{of.x[row * kInner + l]} * of.w[l * kColumns + column];
        }
        ASSERT_NEAR(found[at], wanted, 1e-5) << rows << " rows, " << row << ", " << column;
      }
    }
  }
}

TEST(StripProducts, TakeRowsFromTheColumnsOfX) {
  for (const std::int64_t rows : {std::int64_t{1}, kMostStripRows, 2 * kMostStripRows + 1}) {
    const Operands of(rows);
    const std::int64_t apart = rows + 2;
    std::vector<float> turned(kInner * apart);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t l = 0; l < kInner; ++l) turned[l * apart + row] = of.x[row * kInner + l];
    }
    const StripWeights weights = strips_of(MatrixOfFloats::plain(of.w.data(), kInner, kColumns));
    std::vector<float> wanted(rows * kColumns);
    std::vector<float> found(rows * kColumns);
    multiply_strips(weights, {.x = of.x.data(), .rows = rows, .y = wanted.data(), .row_y = kColumns});
    multiply_strips(
        weights, {.x = turned.data(), .turned_x = apart, .rows = rows, .y = found.data(), .row_y = kColumns});
    EXPECT_EQ(found, wanted) << rows;
  }
}

// Who changes the layout raises kVersion of packed_store.cpp, or strips that were kept before are taken for
// new ones.
TEST(StripProducts, HaveTheLayoutOfThoseThatWereKeptBefore) {
  constexpr std::int64_t kAll = kStrip + 6;
  std::vector<float> numbers(3 * kAll);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const ir::Tensor strips = strips_of(MatrixOfFloats::plain(numbers.data(), 3, kAll)).numbers;
  EXPECT_EQ(strips.dims(), (ir::Dims{2, 3, kStrip}));
  const auto at = [&](std::int64_t strip, std::int64_t row, std::int64_t column) {
    return strips.data<float>()[(strip * 3 + row) * kStrip + column];
  };
  EXPECT_EQ(at(0, 2, kStrip - 1), 2 * kAll + kStrip - 1);
  EXPECT_EQ(at(1, 2, 5), 2 * kAll + kStrip + 5);
  EXPECT_EQ(at(1, 2, 6), 0);
}

TEST(StripProducts, TakeTransposedWeights) {
  Operands of(2);
  const std::vector<float> wanted = of.multiplied();
  std::vector<float> turned(of.w.size());
  for (std::int64_t l = 0; l < kInner; ++l) {
    for (std::int64_t column = 0; column < kColumns; ++column)
      turned[column * kInner + l] = of.w[l * kColumns + column];
  }
  const StripWeights plain = strips_of(MatrixOfFloats::plain(of.w.data(), kInner, kColumns));
  const StripWeights strips = strips_of(MatrixOfFloats::transposed(turned.data(), kInner, kColumns));
  ASSERT_EQ(strips.numbers.dims(), plain.numbers.dims());
  EXPECT_TRUE(std::ranges::equal(strips.numbers.values<float>(), plain.numbers.values<float>()));
}

TEST(StripProducts, GiveARowTheSameBitsBesideOthersOnAnyNumberOfThreadsInEitherOrder) {
  const Operands all(2 * kMostStripRows + 1);
  std::vector<float> together;
  {
    const ThreadLimit limit(2);
    together = all.multiplied();
    EXPECT_EQ(all.multiplied(StripOrder::Back), together);
  }
  const ThreadLimit limit(1);
  EXPECT_EQ(all.multiplied(), together);
  EXPECT_EQ(all.multiplied(StripOrder::Back), together);
  const Operands first(1);
  const std::vector<float> alone = first.multiplied();
  EXPECT_TRUE(std::equal(alone.begin(), alone.begin() + kColumns, together.begin()));
}

// In registers they are the floats that they stand for.
TEST(StripProducts, GiveWithWeightsOf16BitsWhatTheyGiveWithTheirFloats) {
  for (const ir::DataType type : {ir::DataType::Float16, ir::DataType::Bfloat16}) {
    ir::Tensor narrow(type, {kInner, kColumns});
    from_float(numbers(kInner * kColumns, 2).data(), narrow, 0, narrow.size());
    const ir::Tensor floats = as_float(narrow);
    const ir::Op op;
    const PrepareContext context(op);
    const StripWeights strips = strips_of(context, narrow, StripSource::Plain);
    EXPECT_EQ(strips.bytes_of_row(), 2 * kStrip);
    for (std::int64_t rows = 1; rows <= 2 * kMostStripRows + 1; ++rows) {
      const std::vector<float> x = numbers(rows * kInner, 1);
      std::vector<float> found(rows * kColumns);
      std::vector<float> wanted(rows * kColumns);
      multiply_strips(strips, {.x = x.data(), .rows = rows, .y = found.data(), .row_y = kColumns});
      multiply_strips(strips_of(context, floats, StripSource::Plain),
                      {.x = x.data(), .rows = rows, .y = wanted.data(), .row_y = kColumns});
      EXPECT_EQ(found, wanted) << rows << " rows of " << ir::name_of(type);
    }
  }
}

TEST(StripProducts, GiveEveryWidthOfTheLastStripTheBitsThatItHasInAWiderOne) {
  constexpr std::int64_t kRows = 13;
  const std::vector<float> x = numbers(kRows * kInner, 8);
  const std::vector<float> w = numbers(kInner * kStrip, 9);
  const auto product = [&](std::int64_t columns) {
    std::vector<float> y(kRows * kStrip, -7);
    multiply_strips(strips_of(MatrixOfFloats{w.data(), kInner, columns, kStrip, 1}),
                    {.x = x.data(), .rows = kRows, .y = y.data(), .row_y = kStrip});
    return y;
  };
  const std::vector<float> whole = product(kStrip);
  for (std::int64_t columns = 1; columns < kStrip; ++columns) {
    const std::vector<float> y = product(columns);
    for (std::int64_t i = 0; i < kRows * kStrip; ++i)
      ASSERT_EQ(y[i], i % kStrip < columns ? whole[i] : -7) << columns << " columns, " << i;
  }
}

// So many rows of so many numbers are more than a block, which leaves a cache room for the strips.
TEST(StripProducts, GiveARowTheSameBitsInWhicheverBlockOfRowsItIs) {
  constexpr std::int64_t kLong = 4096;
  constexpr std::int64_t kRows = 200;
  const std::vector<float> x = numbers(kRows * kLong, 5);
  const std::vector<float> w = numbers(kLong * kColumns, 6);
  const StripWeights strips = strips_of(MatrixOfFloats::plain(w.data(), kLong, kColumns));
  std::vector<float> together(kRows * kColumns);
  std::vector<float> back(kRows * kColumns);
  const StripOperands all{.x = x.data(), .rows = kRows, .y = together.data(), .row_y = kColumns};
  multiply_strips(strips, all);
  StripOperands other = all;
  other.y = back.data();
  multiply_strips(strips, other, StripOrder::Back);
  EXPECT_EQ(back, together);
  for (const std::int64_t row : {std::int64_t{0}, kRows / 2, kRows - 1}) {
    std::vector<float> alone(kColumns);
    multiply_strips(strips, {.x = x.data() + row * kLong, .rows = 1, .y = alone.data(), .row_y = kColumns});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * kColumns)) << row;
  }
}

}  // namespace
}  // namespace podium::kernels
