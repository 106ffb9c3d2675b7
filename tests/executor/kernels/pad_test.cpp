#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/pad.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(PadMap, RepeatsAsOftenAsNeeded) {
  EXPECT_THAT(ir::pad_map(3, {5, 3}, "reflect"), ElementsAre(1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1));
  EXPECT_THAT(ir::pad_map(3, {4, 1}, "wrap"), ElementsAre(2, 0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(ir::pad_map(2, {1, 2}, "edge"), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(ir::pad_map(1, {1, 1}, "reflect"), ElementsAre(0, 0, 0));
}

TEST(PadMap, CutsBeforeItRepeats) {
  EXPECT_THAT(ir::pad_map(4, {-1, 2}, "wrap"), ElementsAre(1, 2, 3, 1, 2));
  EXPECT_THAT(ir::pad_map(4, {1, -2}, "constant"), ElementsAre(-1, 0, 1));
  EXPECT_THAT(ir::pad_map(2, {-3, 2}, "constant"), ElementsAre(-1));
  EXPECT_THROW(ir::pad_map(2, {-3, 0}, "constant"), Error);
  EXPECT_THROW(ir::pad_map(0, {1, 0}, "edge"), Error);
}

TEST(Pad, StringsWithEmptyOnes) {
  const auto y = run_text("g (string[2,1] x, int64[4] p) => (string[N,M] y) { y = Pad(x, p) }",
                          {tensor<std::string>({2, 1}, {"a", "b"}), Tensor::ints({1, 0, 0, 1})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{3, 2}));
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("", "", "a", "", "b", ""));
}

TEST(Pad, MovesBlocksBehindTheLastPaddedAxis) {
  const auto y =
      run_text("g (int16[2,3] x, int64[2] p, int16 v, int32[1] a) => (int16[N,M] y) { y = Pad(x, p, v, a) }",
               {tensor<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::ints({1, -1}),
                Tensor::scalar<std::int16_t>(9), tensor<std::int32_t>({1}, {-2})});
  EXPECT_THAT(values<std::int16_t>(y[0]), ElementsAre(9, 9, 9, 1, 2, 3));
}

TEST(Pad, ReflectsOnTwoAxes) {
  const auto y = run_text(
      "g (double[2,2] x) => (double[3,4] y)"
      " { p = Constant <value_ints = [0,1,1,1]> () y = Pad <mode = \"reflect\"> (x, p) }",
      {tensor<double>({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(values<double>(y[0]), ElementsAre(2, 1, 2, 1, 4, 3, 4, 3, 2, 1, 2, 1));
}

TEST(Pad, OfNothingIsAllConstant) {
  const auto y = run_text("g (float[0,2] x, int64[4] p, float v) => (float[N,M] y) { y = Pad(x, p, v) }",
                          {tensor<float>({0, 2}, {}), Tensor::ints({1, 0, 0, 0}), Tensor::scalar(7.0F)});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(7, 7));
}

}  // namespace
}  // namespace podium::kernels
