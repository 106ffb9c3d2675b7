#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(Constant, HoldsEveryKindOfAttribute) {
  const auto y = run_text(
      "g (float[1] x) => (float[2] a, int64[2] b, string[1] c, float d, int64 e) {"
      " a = Constant <value_floats = [1.5, 2.0]> () b = Constant <value_ints = [3, 4]> ()"
      " c = Constant <value_strings = [\"s\"]> () d = Constant <value_float = 5.0> () e = Constant "
      "<value_int = 6> () }",
      {tensor<float>({1}, {0})});
  EXPECT_THAT(values<float>(y[0]), ElementsAre(1.5F, 2.0F));
  EXPECT_THAT(values<std::int64_t>(y[1]), ElementsAre(3, 4));
  EXPECT_THAT(values<std::string>(y[2]), ElementsAre("s"));
  EXPECT_EQ(y[3].tensor.dims(), Dims{});
  EXPECT_THAT(values<std::int64_t>(y[4]), ElementsAre(6));
}

TEST(ConstantOfShape, OfAScalarAndOfNothing) {
  const std::string graph = "g (int64[N] s) => (float y) { y = ConstantOfShape(s) }";
  EXPECT_EQ(run_text(graph, {ir::Tensor::ints({})})[0].tensor.dims(), Dims{});
  EXPECT_EQ(run_text(graph, {ir::Tensor::ints({2, 0})})[0].tensor.dims(), (Dims{2, 0}));
  EXPECT_THROW(run_text(graph, {ir::Tensor::ints({-2})}), Error);
}

TEST(Range, RoundsNarrowFloatsOnce) {
  const auto half = [](float value) { return tensor<ir::Float16>({}, {ir::Float16(value)}); };
  const auto y = run_text("g (float16 a, float16 b, float16 c) => (float16[N] y) { y = Range(a, b, c) }",
                          {half(0), half(1000), half(0.1F)});
  ASSERT_EQ(y[0].tensor.size(), 10003);  // 0.1 in half precision is 0.09998
  EXPECT_EQ(static_cast<float>(y[0].tensor.data<ir::Float16>()[5000]),
            static_cast<float>(ir::Float16(5000 * static_cast<float>(ir::Float16(0.1F)))));
}

TEST(Range, OfIntegersBothWays) {
  const auto y = run_text(
      "g (int16 a, int16 b, int16 c) => (int16[N] y) { y = Range(a, b, c) }",
      {tensor<std::int16_t>({}, {5}), tensor<std::int16_t>({}, {-2}), tensor<std::int16_t>({}, {-3})});
  EXPECT_THAT(values<std::int16_t>(y[0]), ElementsAre(5, 2, -1));
}

TEST(EyeLike, DiagonalsInsideAndOutside) {
  const auto eye = [](std::int64_t k) {
    return values<bool>(run_text(
        "g (float[2,3] x) => (bool[2,3] y) { y = EyeLike <dtype = 9, k = " + std::to_string(k) + "> (x) }",
        {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})})[0]);
  };
  EXPECT_THAT(eye(1), ElementsAre(false, true, false, false, false, true));
  EXPECT_THAT(eye(-1), ElementsAre(false, false, false, true, false, false));
  EXPECT_THAT(eye(2), ElementsAre(false, false, true, false, false, false));
  EXPECT_THAT(eye(7), ElementsAre(false, false, false, false, false, false));
  EXPECT_THAT(eye(-7), ElementsAre(false, false, false, false, false, false));
}

}  // namespace
}  // namespace podium::kernels
