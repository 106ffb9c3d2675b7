#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kInfinity;
using testing::kNan;
using testing::run_text;
using testing::tensor;
using ::testing::ThrowsMessage;
using testing::values;

ir::Datum reduce(const std::string& op, const ir::Tensor& x, const std::vector<std::int64_t>& axes,
                 const std::string& attributes = "") {
  const std::string type(name_of(x.type()));
  return run_text(fmt::format("g ({0}{1} x, int64[{2}] axes) => ({0} y) {{ y = {3} {4} (x, axes) }}", type,
                              ir::to_string(x.dims()), axes.size(), op, attributes),
                  {x, ir::Tensor::ints(axes)})[0];
}

template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<T>(i * 7 % 13 - 6));
  return result;
}

// Sums over any axes of a [2,3,4,5] tensor, straight from the definition.
std::vector<float> sums(const std::vector<float>& x, const std::vector<bool>& is_reduced) {
  const std::array<std::size_t, 4> dims{2, 3, 4, 5};
  std::vector<float> result;
  std::vector<std::size_t> place(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i;
    std::size_t at = 0;
    std::size_t stride = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
      const std::size_t index = rest % dims[axis];
      rest /= dims[axis];
      if (is_reduced[axis]) continue;
      at += index * stride;
      stride *= dims[axis];
    }
    result.resize(std::max(result.size(), at + 1), 0);
    result[at] += x[i];
  }
  return result;
}

TEST(ReduceSum, AgreesWithTheDefinitionForEverySetOfAxes) {
  const std::vector<float> x = numbers<float>(120);
  for (int set = 1; set < 16; ++set) {
    std::vector<std::int64_t> axes;
    std::vector<bool> is_reduced(4, false);
    for (int axis = 0; axis < 4; ++axis) {
      if ((set >> axis & 1) == 0) continue;
      axes.push_back(axis % 2 == 0 ? axis : axis - 4);
      is_reduced[axis] = true;
    }
    EXPECT_EQ(values<float>(reduce("ReduceSum", tensor<float>({2, 3, 4, 5}, x), axes)), sums(x, is_reduced))
        << set;
  }
}

TEST(ReduceSum, IsExactOverMillionsOfOnes) {
  const std::int64_t count = 20'000'000;  // a float that counts by one stops at 2^24
  const ir::Tensor ones = tensor<float>({count}, std::vector<float>(static_cast<std::size_t>(count), 1));
  EXPECT_THAT(values<float>(reduce("ReduceSum", ones, {0})), ElementsAre(2e7F));
  EXPECT_THAT(values<float>(reduce("ReduceMean", ones.reshaped({count / 2, 2}), {0})), ElementsAre(1, 1));
}

TEST(ReduceSum, WrapsIntegersAndRoundsHalvesOnce) {
  EXPECT_THAT(
      values<std::int32_t>(reduce("ReduceSum", tensor<std::int32_t>({3}, {1 << 30, 1 << 30, 5}), {0})),
      ElementsAre(std::numeric_limits<std::int32_t>::min() + 5));
  const ir::Tensor halves = tensor<Float16>({3}, {Float16(2048), Float16(1), Float16(1)});
  EXPECT_EQ(static_cast<float>(values<Float16>(reduce("ReduceSum", halves, {0}))[0]), 2050);
}

TEST(ReduceSum, LeavesAllAsItIsWithoutAxesWhenAskedTo) {
  const auto y = run_text("g (double[2] x) => (double[2] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }",
                          {tensor<double>({2}, {1, -2})});
  EXPECT_THAT(values<double>(y[0]), ElementsAre(1, -2));
  const auto squares =
      run_text("g (double[2] x) => (double[2] y) { y = ReduceSumSquare <noop_with_empty_axes = 1> (x) }",
               {tensor<double>({2}, {1, -2})});
  EXPECT_THAT(values<double>(squares[0]), ElementsAre(1, 4));
}

TEST(Reduce, KeepsOrDropsReducedAxes) {
  const ir::Tensor x = tensor<float>({2, 1, 3}, numbers<float>(6));
  EXPECT_EQ(reduce("ReduceMax", x, {2, 0}).tensor.dims(), (ir::Dims{1, 1, 1}));
  EXPECT_EQ(reduce("ReduceMax", x, {2, 0}, "<keepdims = 0>").tensor.dims(), (ir::Dims{1}));
}

TEST(Reduce, GivesTheNeutralElementOfNothing) {
  const ir::Tensor none = tensor<float>({2, 0}, {});
  EXPECT_THAT(values<float>(reduce("ReduceSum", none, {1})), ElementsAre(0, 0));
  EXPECT_THAT(values<float>(reduce("ReduceProd", none, {1})), ElementsAre(1, 1));
  EXPECT_THAT(values<float>(reduce("ReduceMax", none, {1})), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(values<float>(reduce("ReduceMin", none, {1})), ElementsAre(kInfinity, kInfinity));
  EXPECT_THAT(values<float>(reduce("ReduceLogSum", none, {1})), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_THAT(values<float>(reduce("ReduceLogSumExp", none, {1})), ElementsAre(-kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(values<float>(reduce("ReduceMean", none, {1}))[0]));
  EXPECT_THAT(values<float>(reduce("ReduceSum", none, {0})), IsEmpty());
  EXPECT_THAT(values<bool>(reduce("ReduceMin", tensor<bool>({0}, {}), {0})), ElementsAre(true));
  EXPECT_THAT(values<std::uint8_t>(reduce("ReduceMin", tensor<std::uint8_t>({0}, {}), {0})),
              ElementsAre(255));
  EXPECT_THAT(values<std::int8_t>(reduce("ReduceMax", tensor<std::int8_t>({0}, {}), {0})), ElementsAre(-128));
}

TEST(ReduceMean, OfNoIntegersIsAnError) {
  EXPECT_THAT([] { reduce("ReduceMean", tensor<std::int32_t>({0}, {}), {0}); },
              ThrowsMessage<Error>(HasSubstr("the mean of no elements of type int32 is not defined")));
}

TEST(ReduceMean, CutsWhatIsBehindThePointOfIntegers) {
  EXPECT_THAT(values<std::int64_t>(reduce("ReduceMean", tensor<std::int64_t>({2, 2}, {-3, -4, 3, 4}), {1})),
              ElementsAre(-3, 3));
}

TEST(ReduceMax, LetsNanWinEverywhere) {
  std::vector<float> x = numbers<float>(200);
  x[70] = kNan;
  EXPECT_TRUE(std::isnan(values<float>(reduce("ReduceMax", tensor<float>({200}, x), {0}))[0]));
  EXPECT_TRUE(std::isnan(values<float>(reduce("ReduceMin", tensor<float>({100, 2}, x), {0}))[0]));
  EXPECT_EQ(values<float>(reduce("ReduceMin", tensor<float>({100, 2}, x), {0}))[1], -6);
}

TEST(ReduceMax, OrsBooleans) {
  const ir::Tensor x = tensor<bool>({2, 2}, {false, false, true, false});
  EXPECT_THAT(values<bool>(reduce("ReduceMax", x, {1})), ElementsAre(false, true));
  EXPECT_THAT(values<bool>(reduce("ReduceMin", x, {0})), ElementsAre(false, false));
}

TEST(ReduceProd, GoesBeyondFloatOnTheWay) {
  const ir::Tensor x = tensor<float>({4}, {1e30F, 1e30F, 1e-30F, 1e-30F});
  EXPECT_NEAR(values<float>(reduce("ReduceProd", x, {0}))[0], 1, 1e-6);
  EXPECT_THAT(values<std::int32_t>(reduce("ReduceProd", tensor<std::int32_t>({3}, {-2, 3, 5}), {0})),
              ElementsAre(-30));
}

TEST(ReduceNorms, LeaveTheMostNegativeIntegerAsItIs) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  EXPECT_THAT(values<std::int32_t>(reduce("ReduceL1", tensor<std::int32_t>({2}, {kLeast, 5}), {0})),
              ElementsAre(kLeast + 5));
}

TEST(ReduceNorms, WorkOnIntegersAndBfloat16) {
  const ir::Tensor x = tensor<std::int32_t>({2}, {-3, 4});
  EXPECT_THAT(values<std::int32_t>(reduce("ReduceL1", x, {0})), ElementsAre(7));
  EXPECT_THAT(values<std::int32_t>(reduce("ReduceL2", x, {0})), ElementsAre(5));
  EXPECT_THAT(values<std::int32_t>(reduce("ReduceSumSquare", x, {0})), ElementsAre(25));
  const ir::Tensor y = tensor<Bfloat16>({2}, {Bfloat16(-3), Bfloat16(4)});
  EXPECT_EQ(static_cast<float>(values<Bfloat16>(reduce("ReduceL2", y, {0}))[0]), 5);
}

TEST(ReduceLogSumExp, NeitherOverflowsNorLosesInfinities) {
  EXPECT_THAT(values<float>(reduce("ReduceLogSumExp", tensor<float>({2}, {1000, 1000}), {0})),
              ElementsAre(1000 + std::log(2.0F)));
  const ir::Tensor edges = tensor<float>({3, 2}, {-kInfinity, -kInfinity, kInfinity, 0, kNan, 0});
  const std::vector<float> y = values<float>(reduce("ReduceLogSumExp", edges, {1}));
  EXPECT_EQ(y[0], -kInfinity);
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_THAT(values<std::int64_t>(reduce("ReduceLogSumExp", tensor<std::int64_t>({2}, {10, 10}), {0})),
              ElementsAre(10));
}

TEST(Reduce, RefusesAnAxisTwiceOrOutside) {
  const ir::Tensor x = tensor<float>({2, 2}, numbers<float>(4));
  EXPECT_THAT(
      [&] {
        reduce("ReduceSum", x, {0, -2});
      },
      ThrowsMessage<Error>(HasSubstr("axis 0 is given twice")));
  EXPECT_THROW(reduce("ReduceSum", x, {2}), Error);
}

template <class T>
std::vector<std::int64_t> arg(const std::string& op, ir::Dims dims, const std::vector<T>& x, int axis,
                              bool last) {
  const ir::Tensor input = tensor<T>(dims, x);
  const std::string text =
      fmt::format("g ({}{} x) => (int64 y) {{ y = {} <axis = {}, select_last_index = {}> (x) }}",
                  name_of(input.type()), ir::to_string(dims), op, axis, last ? 1 : 0);
  return values<std::int64_t>(run_text(text, {input})[0]);
}

TEST(ArgMax, ChoosesFirstOrLastOfEquals) {
  const std::vector<std::int16_t> x{2, 2, 1, 2, 1, 2};
  EXPECT_THAT(arg("ArgMax", {2, 3}, x, 1, false), ElementsAre(0, 0));
  EXPECT_THAT(arg("ArgMax", {2, 3}, x, 1, true), ElementsAre(1, 2));
  EXPECT_THAT(arg("ArgMax", {2, 3}, x, 0, false), ElementsAre(0, 0, 1));
  EXPECT_THAT(arg("ArgMax", {2, 3}, x, 0, true), ElementsAre(1, 0, 1));
  EXPECT_THAT(arg("ArgMin", {2, 3}, x, -2, true), ElementsAre(1, 1, 0));
}

TEST(ArgMax, FindsTheFirstOfRowsOfEveryLength) {
  for (std::int64_t count : {1, 7, 63, 64, 65, 255, 256, 257, 600}) {
    for (std::int64_t place = 0; place < count; place += count / 7 + 1) {
      std::vector<float> row(count, -1);
      for (std::int64_t i = place; i < count; i += 3) row[i] = 5;
      const ir::Tensor x = tensor<float>({1, count}, row);
      const auto found = run_text(
          fmt::format("g (float[1,{}] x) => (int64[] y) {{ y = ArgMax <axis = 1> (x) }}", count), {x});
      EXPECT_THAT(values<std::int64_t>(found[0]), ElementsAre(place)) << count;
    }
  }
}

TEST(Reduce, TakesAllOfRowsOfEveryLength) {
  for (std::int64_t count = 1; count < 150; ++count) {
    const std::vector<float> row = numbers<float>(count);
    const ir::Tensor x = tensor<float>({1, count}, row);
    EXPECT_THAT(values<float>(reduce("ReduceSum", x, {1})),
                ElementsAre(std::accumulate(row.begin(), row.end(), 0.0F)));
    for (std::int64_t place : {std::int64_t{0}, count / 2, count - 1}) {
      std::vector<float> raised = row;
      raised[place] = 50;
      const ir::Tensor with_most = tensor<float>({1, count}, raised);
      EXPECT_THAT(values<float>(reduce("ReduceMax", with_most, {1})), ElementsAre(50))
          << count << " " << place;
      raised[place] = kNan;
      const ir::Tensor with_nan = tensor<float>({1, count}, raised);
      EXPECT_TRUE(std::isnan(values<float>(reduce("ReduceMin", with_nan, {1}))[0])) << count << " " << place;
    }
  }
}

TEST(ArgMax, FindsNan) {
  const std::vector<float> x{1, kNan, 3, kNan};
  EXPECT_THAT(arg("ArgMax", {4}, x, 0, false), ElementsAre(1));
  EXPECT_THAT(arg("ArgMin", {4}, x, 0, true), ElementsAre(3));
  EXPECT_THAT(arg("ArgMax", {4, 1}, x, 0, false), ElementsAre(1));
  EXPECT_THAT(arg("ArgMax", {2, 2}, x, 0, true), ElementsAre(1, 1));
}

TEST(ArgMax, HasNoIndexOfNothing) {
  EXPECT_THAT(
      [] {
        arg<float>("ArgMax", {2, 0}, {}, 1, false);
      },
      ThrowsMessage<Error>(HasSubstr("no element to choose")));
  EXPECT_THAT(arg<float>("ArgMax", {0, 2}, {}, 1, false), IsEmpty());
}

template <class T>
std::vector<T> cumulate(const std::string& op, const ir::Tensor& x, std::int32_t axis) {
  const std::string type(name_of(x.type()));
  return values<T>(run_text(fmt::format("g ({0}{1} x, int32 axis) => ({0}{1} y) {{ y = {2} (x, axis) }}",
                                        type, ir::to_string(x.dims()), op),
                            {x, ir::Tensor::scalar(axis)})[0]);
}

TEST(CumSum, RefusesAnAxisOfNoNumber) {
  EXPECT_THROW(run_text("g (float[2] x, int64[0] axis) => (float[2] y) { y = CumSum(x, axis) }",
                        {tensor<float>({2}, {1, 2}), tensor<std::int64_t>({0}, {})}),
               Error);
}

TEST(CumSum, RunsAlongAMiddleAxis) {
  const ir::Tensor x = tensor<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(cumulate<std::int64_t>("CumSum", x, 1), ElementsAre(1, 2, 4, 6, 5, 6, 12, 14));
  EXPECT_THAT(cumulate<std::int64_t>("CumSum <exclusive = 1>", x, 1), ElementsAre(0, 0, 1, 2, 0, 0, 5, 6));
  EXPECT_THAT(cumulate<std::int64_t>("CumSum <reverse = 1, exclusive = 1>", x, -1),
              ElementsAre(2, 0, 4, 0, 6, 0, 8, 0));
  EXPECT_THROW(cumulate<std::int64_t>("CumSum", x, 3), Error);
}

TEST(CumProd, MultipliesInEveryType) {
  EXPECT_THAT(cumulate<std::uint32_t>("CumProd", tensor<std::uint32_t>({3}, {1U << 31, 2, 3}), 0),
              ElementsAre(1U << 31, 0, 0));
  EXPECT_THAT(cumulate<double>("CumProd <reverse = 1>", tensor<double>({3}, {2, 3, 4}), 0),
              ElementsAre(24, 12, 4));
  const ir::Tensor halves = tensor<Float16>({2}, {Float16(3), Float16(0.5F)});
  EXPECT_EQ(static_cast<float>(cumulate<Float16>("CumProd", halves, 0)[1]), 1.5F);
}

}  // namespace
}  // namespace podium::kernels
