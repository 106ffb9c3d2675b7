#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(TopK, TakesNanForTheGreatestAndTheFirstOfEquals) {
  const auto x = tensor<float>({6}, {0.0F, NAN, -0.0F, -NAN, INFINITY, 3});
  const auto run = [&](const std::string& largest) {
    return values<std::int64_t>(
        run_text("g (float[6] x, int64[1] k) => (float[N] v, int64[N] i)"
                 " { v, i = TopK <largest = " +
                     largest + "> (x, k) }",
                 {x, Tensor::ints({5})})[1]);
  };
  EXPECT_THAT(run("1"), ElementsAre(1, 3, 4, 5, 0));
  EXPECT_THAT(run("0"), ElementsAre(0, 2, 5, 4, 1));
}

TEST(TopK, OrdersIntegersOfBothSigns) {
  const auto y = run_text(
      "g (int64[2,3] x, int64[1] k) => (int64[N,M] v, int64[N,M] i) { v, i = TopK <axis = 0> (x, k) }",
      {tensor<std::int64_t>({2, 3}, {-1, INT64_MIN, 5, 1, INT64_MAX, 5}), Tensor::ints({1})});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(1, INT64_MAX, 5));
  EXPECT_THAT(values<std::int64_t>(y[1]), ElementsAre(1, 1, 0));
  EXPECT_THROW(run_text("g (int64[2] x, int64[1] k) => (int64[N] v, int64[N] i) { v, i = TopK(x, k) }",
                        {Tensor::ints({1, 2}), Tensor::ints({3})}),
               Error);
}

TEST(TopK, OfAnyKAgreesWithSorting) {
  std::vector<ir::Float16> x;
  for (int i = 0; i < 1000; ++i) x.emplace_back(static_cast<float>(i * 7919 % 501) - 250);
  std::vector<std::int64_t> order(x.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return static_cast<float>(x[a]) > static_cast<float>(x[b]);
  });
  for (std::int64_t k : {1, 10, 500, 1000, 0}) {
    const auto y =
        run_text("g (float16[1000] x, int64[1] k) => (float16[N] v, int64[N] i) { v, i = TopK(x, k) }",
                 {tensor<ir::Float16>({1000}, x), Tensor::ints({k})});
    EXPECT_EQ(values<std::int64_t>(y[1]), std::vector<std::int64_t>(order.begin(), order.begin() + k));
  }
}

TEST(Unique, OfStringsInBothOrders) {
  const auto x = tensor<std::string>({4}, {"pear", "fig", "pear", "apple"});
  const auto run = [&](const std::string& sorted) {
    return run_text(
        "g (string[4] x) => (string[N] y, int64[N] i, int64[M] v, int64[N] c)"
        " { y, i, v, c = Unique <sorted = " +
            sorted + "> (x) }",
        {x});
  };
  const auto ascending = run("1");
  EXPECT_THAT(values<std::string>(ascending[0]), ElementsAre("apple", "fig", "pear"));
  EXPECT_THAT(values<std::int64_t>(ascending[1]), ElementsAre(3, 1, 0));
  EXPECT_THAT(values<std::int64_t>(ascending[2]), ElementsAre(2, 1, 2, 0));
  EXPECT_THAT(values<std::int64_t>(ascending[3]), ElementsAre(1, 1, 2));
  const auto found = run("0");
  EXPECT_THAT(values<std::string>(found[0]), ElementsAre("pear", "fig", "apple"));
  EXPECT_THAT(values<std::int64_t>(found[2]), ElementsAre(0, 1, 0, 2));
}

TEST(Unique, OfComplexSlicesOnTheLastAxis) {
  using Complex = std::complex<double>;
  const auto y = run_text("g (complex128[2,3] x) => (complex128[2,N] y) { y = Unique <axis = -1> (x) }",
                          {tensor<Complex>({2, 3}, {{1, 1}, {1, 0}, {1, 1}, {2, 0}, {9, 0}, {2, 0}})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{2, 2}));
  EXPECT_THAT(values<Complex>(y[0]), ElementsAre(Complex(1, 0), Complex(1, 1), Complex(9, 0), Complex(2, 0)));
}

TEST(Unique, OfNothingIsNothing) {
  const auto y =
      run_text("g (float[0] x) => (float[N] y, int64[N] i) { y, i = Unique(x) }", {tensor<float>({0}, {})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{0}));
  EXPECT_EQ(y[1].tensor.dims(), (Dims{0}));
}

TEST(NonZero, OfAScalarHasNoRows) {
  const std::string graph = "g (double x) => (int64[N,M] y) { y = NonZero(x) }";
  EXPECT_EQ(run_text(graph, {Tensor::scalar(2.0)})[0].tensor.dims(), (Dims{0, 1}));
  EXPECT_EQ(run_text(graph, {Tensor::scalar(0.0)})[0].tensor.dims(), (Dims{0, 0}));
}

TEST(NonZero, TakesNanAndTextForSomething) {
  const auto y = run_text("g (float[2,2] x) => (int64[N,M] y) { y = NonZero(x) }",
                          {tensor<float>({2, 2}, {NAN, -0.0F, 0, 1})});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(0, 1, 0, 1));
  const auto z =
      run_text("g (string[2] x) => (int64[N,M] y) { y = NonZero(x) }", {tensor<std::string>({2}, {"", "a"})});
  EXPECT_THAT(values<std::int64_t>(z[0]), ElementsAre(1));
}

}  // namespace
}  // namespace podium::kernels
