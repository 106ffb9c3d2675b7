#include "executor/kernels/tools/strides.h"

#include <gtest/gtest.h>

#include <numeric>

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Dims;

// The expected copy, made an element at a time.
template <class T>
std::vector<T> one_by_one(const std::vector<T>& from, std::size_t size, const std::vector<MoveLoop>& loops) {
  std::vector<T> to(size);
  Dims dims;
  Dims from_strides;
  Dims to_strides;
  for (const MoveLoop& loop : loops) {
    dims.push_back(loop.count);
    from_strides.push_back(loop.from);
    to_strides.push_back(loop.to);
  }
  for (StridedWalk<2> walk(dims, {from_strides, to_strides}); walk.more(); walk.next()) {
    to[walk.offset(1)] = from[walk.offset(0)];
  }
  return to;
}

template <class T>
void expect_same(const std::vector<MoveLoop>& loops, std::size_t from_size, std::size_t to_size) {
  std::vector<T> from(from_size);
  for (std::size_t i = 0; i < from_size; ++i) from[i] = static_cast<T>(i % 251);
  std::vector<T> to(to_size);
  StridedCopy(ir::data_type_of<T>, loops).run(from.data(), to.data());
  EXPECT_EQ(to, one_by_one(from, to_size, loops));
}

template <class T>
void expect_transposes() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{2, 3},  {64, 64}, {67, 130}, {1, 40},
                                                                  {33, 3}, {3, 70},  {70, 2}};
  for (const auto& [rows, columns] : shapes) {
    const auto size = static_cast<std::size_t>(rows * columns);
    expect_same<T>({{columns, 1, rows}, {rows, columns, 1}}, size, size);
    // A batch of them, and one with runs of two.
    expect_same<T>({{3, rows * columns, rows * columns}, {columns, 1, rows}, {rows, columns, 1}}, size * 3,
                   size * 3);
    expect_same<T>({{columns, 2, 2 * rows}, {rows, 2 * columns, 2}, {2, 1, 1}}, size * 2, size * 2);
  }
}

TEST(StridedCopy, TransposesEveryElementSize) {
  expect_transposes<std::uint8_t>();
  expect_transposes<std::int16_t>();
  expect_transposes<float>();
  expect_transposes<double>();
  expect_transposes<std::complex<double>>();
}

TEST(StridedCopy, PermutesFourLoops) {
  expect_same<float>({{4, 1, 30}, {2, 60, 15}, {5, 4, 3}, {3, 20, 1}}, 120, 120);
  expect_same<float>({{5, 4, 24}, {2, 60, 12}, {4, 1, 3}, {3, 20, 1}}, 120, 120);
}

TEST(StridedCopy, MovesRunsOfAnyLength) {
  for (const std::int64_t run : {5, 8, 16, 24, 31, 256, 300}) {
    const std::int64_t gap = run + 3;
    expect_same<float>({{6, gap, 2 * run}, {run, 1, 1}}, 6 * gap, 12 * run);
    expect_same<float>({{2, 3 * gap, run}, {3, gap, 2 * run}, {run, 1, 1}}, 6 * gap, 12 * run);
  }
}

TEST(StridedCopy, RepeatsReversesAndSkips) {
  expect_same<float>({{3, 0, 4}, {4, 1, 1}}, 4, 12);
  expect_same<std::int8_t>({{4, 1, 3}, {3, 0, 1}}, 4, 12);
  expect_same<float>({{5, 2, 1}}, 10, 5);
  expect_same<float>({{7, 9, 3}, {3, 1, 1}}, 63, 21);
  expect_same<float>({}, 1, 1);
  expect_same<float>({{0, 1, 1}, {5, 1, 1}}, 5, 5);
  std::vector<std::int16_t> reversed(4);
  const std::vector<std::int16_t> from{1, 2, 3, 4};
  StridedCopy(DataType::Int16, {{4, -1, 1}}).run(from.data() + 3, reversed.data());
  EXPECT_EQ(reversed, (std::vector<std::int16_t>{4, 3, 2, 1}));
}

TEST(StridedCopy, AssignsStrings) {
  const std::vector<std::string> from{"a", "b", "a long one that is not kept inside", "d", "e", "f"};
  std::vector<std::string> to(6);
  StridedCopy(DataType::String, {{3, 1, 2}, {2, 3, 1}}).run(from.data(), to.data());
  EXPECT_EQ(to, (std::vector<std::string>{"a", "d", "b", "e", "a long one that is not kept inside", "f"}));
}

TEST(Elements, FillZeroAndCopy) {
  std::vector<std::string> strings(3, "x");
  const std::string value = "y";
  fill_elements(DataType::String, &value, strings.data(), 2);
  EXPECT_EQ(strings, (std::vector<std::string>{"y", "y", "x"}));
  zero_elements(DataType::String, strings.data(), 1);
  EXPECT_EQ(strings[0], "");
  std::vector<std::complex<double>> numbers(3);
  const std::complex<double> number(1, 2);
  fill_elements(DataType::Complex128, &number, numbers.data(), 3);
  EXPECT_EQ(numbers[2], number);
}

}  // namespace
}  // namespace podium::kernels
