#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/kernels/tools/kernel.h"
#include "ir/zero_tensor.h"
#include "tests/support/fusing.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

const std::vector<std::string> kLetters{"a", "b", "c", "d", "e", "f"};

TEST(Transpose, MovesStringsAndBytes) {
  const auto y =
      run_text("g (string[2,3] x) => (string[3,2] y) { y = Transpose(x) }", {tensor({2, 3}, kLetters)});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("a", "d", "b", "e", "c", "f"));
  const auto z = run_text("g (uint8[1,2,3] x) => (uint8[N,M,K] y) { y = Transpose <perm = [2,0,1]> (x) }",
                          {tensor<std::uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(z[0].tensor.dims(), (Dims{3, 1, 2}));
  EXPECT_THAT(values<std::uint8_t>(z[0]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Transpose, OfNothingIsNothing) {
  const auto y =
      run_text("g (float[0,3] x) => (float[N,M] y) { y = Transpose(x) }", {tensor<float>({0, 3}, {})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{3, 0}));
}

TEST(Concat, SkipsEmptyInputs) {
  const auto y = run_text(
      "g (string[2,1] a, string[2,0] b, string[2,2] c) => (string[N,M] y) { y = Concat <axis = -1> (a, b, c) "
      "}",
      {tensor<std::string>({2, 1}, {"a", "d"}), tensor<std::string>({2, 0}, {}),
       tensor<std::string>({2, 2}, {"b", "c", "e", "f"})});
  EXPECT_EQ(values<std::string>(y[0]), kLetters);
}

TEST(Tile, TakesRepeatsFromARunningValue) {
  const auto y = run_text("g (double[2] x, int64[1] r) => (double[N] y) { y = Tile(x, r) }",
                          {tensor<double>({2}, {1, 2}), ir::Tensor::ints({3})});
  EXPECT_THAT(values<double>(y[0]), ElementsAre(1, 2, 1, 2, 1, 2));
  const auto none = run_text("g (double[2] x, int64[1] r) => (double[N] y) { y = Tile(x, r) }",
                             {tensor<double>({2}, {1, 2}), ir::Tensor::ints({0})});
  EXPECT_EQ(none[0].tensor.dims(), (Dims{0}));
}

TEST(Expand, OfAZeroThatIsKnownBeforeTheRunTakesNoMemory) {
  const ir::Op op{
      .spec = ir::find_op("", "Expand"), .inputs = {ir::ValueId{0}, ir::ValueId{1}}, .outputs = {ir::ValueId{2}}};
  const auto expanded = [&](float number) {
    return evaluate(op, std::vector<ir::Datum>{ir::Tensor::of<float>({1}, {number}), ir::Tensor::ints({512, 256})})[0]
        .tensor;
  };
  EXPECT_TRUE(ir::takes_no_memory(expanded(0)));
  EXPECT_EQ(expanded(0).dims(), (Dims{512, 256}));
  EXPECT_FALSE(ir::takes_no_memory(expanded(-0.0F)));
  EXPECT_EQ(expanded(2).data<float>()[512 * 256 - 1], 2);
}

TEST(Expand, StretchesBothWays) {
  const auto y = run_text("g (bool[3,1] x, int64[1] s) => (bool[N,M] y) { y = Expand(x, s) }",
                          {tensor<bool>({3, 1}, {true, false, true}), ir::Tensor::ints({2})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{3, 2}));
  EXPECT_THAT(values<bool>(y[0]), ElementsAre(true, true, false, false, true, true));
}

TEST(Reshape, OfStringsCopiesThem) {
  const auto y = run_text("g (string[2,3] x, int64[2] s) => (string[N,M] y) { y = Reshape(x, s) }",
                          {tensor({2, 3}, kLetters), ir::Tensor::ints({0, -1})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{2, 3}));
  EXPECT_EQ(values<std::string>(y[0]), kLetters);
}

TEST(Shape, OfADataDependentValueIsAskedAtRunTime) {
  const auto y = run_text(
      "g (float[2] x, int64[1] r) => (int64[1] y, int64 n) { t = Tile(x, r) y = Shape <end = 1> (t) n = "
      "Size(t) }",
      {tensor<float>({2}, {1, 2}), ir::Tensor::ints({5})});
  EXPECT_THAT(values<std::int64_t>(y[0]), ElementsAre(10));
  EXPECT_THAT(values<std::int64_t>(y[1]), ElementsAre(10));
}

// Its shape is known, as the wanted one has no elements: a scalar.
TEST(Reshape, RefusesAShapeWithoutElementsThatTheRunGives) {
  EXPECT_THAT(testing::error_of("g (float[2,3] x, int64[0] s) => (float[] y) { y = Reshape(x, s) }",
                                {testing::random_floats({2, 3}, 1), ir::Tensor::ints({})}),
              ::testing::HasSubstr("cannot become []"));
}

TEST(Squeeze, RefusesAxesThatLeaveElementsOut) {
  EXPECT_THAT(testing::error_of("g (float[2,3] x, int64[2] axes) => (float[] y) { y = Squeeze(x, axes) }",
                                {testing::random_floats({2, 3}, 1), ir::Tensor::ints({0, 1})}),
              ::testing::HasSubstr("float[2,3] cannot become float[]"));
}

}  // namespace
}  // namespace podium::kernels
