#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::run_text;
using testing::tensor;
using testing::values;

const std::string kGather =
    "g (string[2,3] x, int32[2] i) => (string[N,M] y) { y = Gather <axis = 1> (x, i) }";

TEST(Gather, TakesStringsAtNegativeIndices) {
  const auto x = tensor<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"});
  const auto y = run_text(kGather, {x, tensor<std::int32_t>({2}, {-1, 0})});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("c", "a", "f", "d"));
  EXPECT_THAT(error_of(kGather, {x, tensor<std::int32_t>({2}, {0, 3})}),
              HasSubstr("index 3 is outside [-3, 2]"));
  EXPECT_THAT(error_of(kGather, {x, tensor<std::int32_t>({2}, {-4, 0})}),
              HasSubstr("index -4 is outside [-3, 2]"));
}

TEST(ScatterNd, AddsToZerosThatAreKnown) {
  const auto y = run_text(
      "g (float[2,1] u, int64[2,1] i) => (float[3,1] y, float[3,1] z) <float[3,1] none = {0, 0, 0}, float[3,1] "
      "some = {0, 0, 5}> { y = ScatterND <reduction = \"add\"> (none, i, u)"
      " z = ScatterND <reduction = \"add\"> (some, i, u) }",
      {tensor<float>({2, 1}, {1, 2}), tensor<std::int64_t>({2, 1}, {1, 1})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(0, 3, 0));
  EXPECT_THAT(values<float>(y[1]), ElementsAre(0, 3, 5));
}

std::vector<float> many(std::int64_t count) {
  std::vector<float> numbers(count);
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = 1.0F / static_cast<float>(1 + 37 * i % 1009);
  return numbers;
}

// Large enough for several threads, in blocks that end within a cache line.
TEST(ScatterNd, AddsLargeBlocksInTheirOrder) {
  constexpr std::int64_t kRows = 700;
  constexpr std::int64_t kBlock = 333;
  constexpr std::int64_t kSums = 40;
  std::vector<std::int64_t> indices(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) indices[i] = 7 * i * i % kSums;
  const std::vector<float> updates = many(kRows * kBlock);
  const auto y = run_text(
      "g (float[40,333] x, int64[700,1] i, float[700,333] u) => (float[40,333] y) { y = ScatterND <reduction = "
      "\"add\"> (x, i, u) }",
      {tensor<float>({kSums, kBlock}, many(kSums * kBlock)), tensor<std::int64_t>({kRows, 1}, indices),
       tensor<float>({kRows, kBlock}, updates)});
  std::vector<float> sums = many(kSums * kBlock);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < kBlock; ++i) sums[indices[row] * kBlock + i] += updates[row * kBlock + i];
  }
  EXPECT_EQ(values<float>(y[0]), sums);
}

TEST(Gather, TakesManyRowsOfEachPart) {
  constexpr std::int64_t kParts = 3;
  constexpr std::int64_t kRows = 50;
  constexpr std::int64_t kTaken = 900;
  constexpr std::int64_t kBlock = 31;
  std::vector<std::int64_t> indices(kTaken);
  for (std::int64_t i = 0; i < kTaken; ++i) indices[i] = 11 * i * i % kRows;
  const std::vector<float> x = many(kParts * kRows * kBlock);
  const auto y =
      run_text("g (float[3,50,31] x, int64[900] i) => (float[3,900,31] y) { y = Gather <axis = 1> (x, i) }",
               {tensor<float>({kParts, kRows, kBlock}, x), tensor<std::int64_t>({kTaken}, indices)});
  std::vector<float> taken;
  for (std::int64_t part = 0; part < kParts; ++part) {
    for (std::int64_t index : indices) {
      const auto first = x.begin() + (part * kRows + index) * kBlock;
      taken.insert(taken.end(), first, first + kBlock);
    }
  }
  EXPECT_EQ(values<float>(y[0]), taken);
}

TEST(Gather, OfAnIndexThatIsAScalarDropsTheAxis) {
  const auto y =
      run_text("g (uint8[3,2] x, int64 i) => (uint8[N] y) { y = Gather(x, i) }",
               {tensor<std::uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6}), Tensor::scalar<std::int64_t>(-1)});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{2}));
  EXPECT_THAT(values<std::uint8_t>(y[0]), ElementsAre(5, 6));
}

TEST(GatherElements, ReadsPartOfTheData) {
  const auto y =
      run_text("g (double[3,3] x, int64[1,2] i) => (double[1,2] y) { y = GatherElements <axis = 0> (x, i) }",
               {tensor<double>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), tensor<std::int64_t>({1, 2}, {-1, 1})});
  EXPECT_THAT(values<double>(y[0]), ElementsAre(7, 5));
  EXPECT_THAT(
      error_of("g (double[1,1] x, int64[2,1] i) => (double[2,1] y) { y = GatherElements <axis = 1> (x, i) }",
               {tensor<double>({1, 1}, {1}), tensor<std::int64_t>({2, 1}, {0, 0})}),
      HasSubstr("indices [2,1] reach outside data [1,1] on axis 0"));
}

TEST(GatherNd, TakesBlocksOfABatch) {
  const auto y =
      run_text("g (int16[2,2,3] x, int64[2,1] i) => (int16[N,M] y) { y = GatherND <batch_dims = 1> (x, i) }",
               {tensor<std::int16_t>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
                tensor<std::int64_t>({2, 1}, {1, -2})});
  EXPECT_THAT(values<std::int16_t>(y[0]), ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST(ScatterElements, ReducesDuplicates) {
  const auto run = [](const std::string& reduction) {
    return values<std::uint8_t>(
        run_text("g (uint8[3] x, int64[3] i, uint8[3] u) => (uint8[3] y)"
                 " { y = ScatterElements <reduction = \"" +
                     reduction + "\"> (x, i, u) }",
                 {tensor<std::uint8_t>({3}, {200, 5, 7}), Tensor::ints({0, 0, -1}),
                  tensor<std::uint8_t>({3}, {50, 60, 2})})[0]);
  };
  EXPECT_THAT(run("none"), ElementsAre(60, 5, 2));
  EXPECT_THAT(run("add"), ElementsAre(54, 5, 9));
  EXPECT_THAT(run("mul"), ElementsAre(200 * 50 * 60 % 256, 5, 14));
  EXPECT_THAT(run("min"), ElementsAre(50, 5, 2));
  EXPECT_THAT(run("max"), ElementsAre(200, 5, 7));
}

TEST(ScatterElements, KeepsNanAndRefusesAnOrderOfComplexNumbers) {
  const auto y = run_text(
      "g (float[2] x, int64[2] i, float[2] u) => (float[2] y)"
      " { y = ScatterElements <reduction = \"max\"> (x, i, u) }",
      {tensor<float>({2}, {NAN, 1}), Tensor::ints({0, 1}), tensor<float>({2}, {1, NAN})});
  EXPECT_TRUE(std::isnan(values<float>(y[0])[0]) && std::isnan(values<float>(y[0])[1]));
  using Complex = std::complex<float>;
  EXPECT_THAT(error_of("g (complex64[1] x, int64[1] i, complex64[1] u) => (complex64[1] y)"
                       " { y = ScatterElements <reduction = \"min\"> (x, i, u) }",
                       {tensor<Complex>({1}, {1}), Tensor::ints({0}), tensor<Complex>({1}, {1})}),
              HasSubstr("reduction 'min' of complex64"));
}

TEST(ScatterNd, LeavesItsInputAlone) {
  const auto x = tensor<std::string>({3}, {"a", "b", "c"});
  const auto y = run_text(
      "g (string[3] x, int64[2,1] i, string[2] u) => (string[3] y, string[3] z) { y = ScatterND(x, i, u) z = "
      "Identity(x) }",
      {x, tensor<std::int64_t>({2, 1}, {2, -3}), tensor<std::string>({2}, {"y", "x"})});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("x", "b", "y"));
  EXPECT_THAT(values<std::string>(y[1]), ElementsAre("a", "b", "c"));
  EXPECT_THAT(
      error_of("g (float[2,2] x, int64[1,1] i, float[1,1] u) => (float[2,2] y) { y = ScatterND(x, i, u) }",
               {tensor<float>({2, 2}, {1, 2, 3, 4}), tensor<std::int64_t>({1, 1}, {0}),
                tensor<float>({1, 1}, {1})}),
      HasSubstr("updates: shapes [1,2] and [1,1] differ"));
}

TEST(TensorScatter, RefusesToRunOverTheEnd) {
  const std::string body =
      "(float[1,3,1] c, float[1,2,1] u, int64[1] w) => (float[1,3,1] y) { y = TensorScatter ";
  const std::vector<ir::Datum> inputs{tensor<float>({1, 3, 1}, {1, 2, 3}), tensor<float>({1, 2, 1}, {8, 9}),
                                      Tensor::ints({2})};
  EXPECT_THAT(error_of("g " + body + "(c, u, w) }", inputs),
              HasSubstr("2 steps at 2 do not fit a cache of 3"));
  EXPECT_THAT(values<float>(run_text("g " + body + "<mode = \"circular\"> (c, u, w) }", inputs)[0]),
              ElementsAre(9, 2, 8));
}

TEST(TensorScatter, GoesRoundACacheFromAnyStart) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  const auto y = run_text(
      "g (float[1,3,1] c, float[1,2,1] u, int64[1] w) => (float[1,3,1] y) { y = TensorScatter <mode = "
      "\"circular\"> (c, u, w) }",
      {tensor<float>({1, 3, 1}, {1, 2, 3}), tensor<float>({1, 2, 1}, {8, 9}), Tensor::ints({kLast})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1, 8, 9));
}

TEST(Compress, TakesAConditionShorterThanTheAxis) {
  const auto y = run_text(
      "g (int64[2,3] x, bool[N] c) => (int64[K] y) { y = Compress(x, c) }",
      {tensor<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<bool>({4}, {false, true, false, true})});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(2, 4));
  EXPECT_THAT(error_of("g (int64[1] x, bool[N] c) => (int64[K] y) { y = Compress(x, c) }",
                       {tensor<std::int64_t>({1}, {1}), tensor<bool>({2}, {false, true})}),
              HasSubstr("condition chooses element 1 of 1"));
}

TEST(OneHot, OfFloatsWithStringValues) {
  const auto y =
      run_text("g (float[3] i, float d, string[2] v) => (string[N,M] y) { y = OneHot <axis = 0> (i, d, v) }",
               {tensor<float>({3}, {1, -1, 7}), Tensor::scalar(2.0F), tensor<std::string>({2}, {"-", "+"})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{2, 3}));
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("-", "-", "-", "+", "+", "-"));
}

TEST(ReverseSequence, RefusesALengthBeyondTheTime) {
  const std::string graph =
      "g (int8[2,3] x, int64[2] l) => (int8[2,3] y) { y = ReverseSequence <batch_axis = 0, time_axis = 1> "
      "(x, l) }";
  const auto x = tensor<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values<std::int8_t>(run_text(graph, {x, Tensor::ints({2, 3})})[0]),
              ElementsAre(2, 1, 3, 6, 5, 4));
  EXPECT_THAT(error_of(graph, {x, Tensor::ints({1, 4})}),
              HasSubstr("a sequence is 4 long, at most 3 needed"));
}

}  // namespace
}  // namespace podium::kernels
