#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/ops/slice.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

TEST(AxisSlice, CutsWhatIsOutside) {
  const auto shown = [](const ir::AxisSlice& slice) { return std::vector{slice.first, slice.count}; };
  EXPECT_THAT(shown(ir::axis_slice(5, 0, INT64_MAX, 2)), ElementsAre(0, 3));
  EXPECT_THAT(shown(ir::axis_slice(5, INT64_MAX, INT64_MIN, -2)), ElementsAre(4, 3));
  EXPECT_THAT(shown(ir::axis_slice(5, -1, -100, -1)), ElementsAre(4, 5));
  EXPECT_THAT(shown(ir::axis_slice(5, -100, 2, 1)), ElementsAre(0, 2));
  EXPECT_THAT(shown(ir::axis_slice(5, 3, 0, INT64_MIN)), ElementsAre(3, 1));
  EXPECT_EQ(ir::axis_slice(5, 3, 1, 1).count, 0);
  EXPECT_EQ(ir::axis_slice(0, 5, INT64_MIN, -1).count, 0);
  EXPECT_THROW(ir::axis_slice(5, 0, 1, 0), Error);
}

TEST(Slice, WithPositionsKnownOnlyAtRunTime) {
  const auto y = run_text(
      "g (string[2,3] x, int32[2] s, int32[2] e, int32[2] a, int32[2] p) => (string[N,M] y)"
      " { y = Slice(x, s, e, a, p) }",
      {tensor<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"}), tensor<std::int32_t>({2}, {-1, -1}),
       tensor<std::int32_t>({2}, {-9, 0}), tensor<std::int32_t>({2}, {1, 0}),
       tensor<std::int32_t>({2}, {-2, -1})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{1, 2}));
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("f", "d"));
}

// What lies beyond the result that it declares was never written.
TEST(Slice, WithoutAxesTakesTheFirstOnes) {
  for (const std::string axes : {"", ", a"}) {
    const auto y =
        run_text("g (int8[2,3] x, int64[1] s, int64[1] e, int64[0] a) => (int8[N,M] y) { y = Slice(x, s, e" +
                     axes + ") }",
                 {tensor<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<std::int64_t>({1}, {1}),
                  tensor<std::int64_t>({1}, {2}), tensor<std::int64_t>({0}, {})});
    EXPECT_EQ(y[0].tensor.dims(), (Dims{1, 3}));
    EXPECT_THAT(values<std::int8_t>(y[0]), ElementsAre(4, 5, 6));
  }
}

TEST(Split, RefusesPartsWhoseSumWrapsToTheDimension) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(run_text("g (int8[0,6] x, int64[3] s) => (int8[N,M] a, int8[N,M] b, int8[N,M] c)"
                        " { a, b, c = Split <axis = 1> (x, s) }",
                        {tensor<std::int8_t>({0, 6}, {}), tensor<std::int64_t>({3}, {kMost, kMost, 8})}),
               Error);
}

TEST(Split, IntoChunksOfWhichTheLastMayBeEmpty) {
  EXPECT_THAT(ir::chunk_sizes(7, 3, 3), ElementsAre(3, 3, 1));
  EXPECT_THAT(ir::chunk_sizes(5, 4, 4), ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(ir::chunk_sizes(5, std::numeric_limits<std::int64_t>::max(), 2), ElementsAre(1, 1));
  const auto y = run_text(
      "g (int8[2,3] x) => (int8[N,M] a, int8[N,K] b) { a, b = Split <axis = 1, num_outputs = 2> (x) }",
      {tensor<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(values<std::int8_t>(y[0]), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(values<std::int8_t>(y[1]), ElementsAre(3, 6));
}

TEST(Split, BySizesKnownOnlyAtRunTime) {
  const std::string graph = "g (float[4] x, int64[2] s) => (float[N] a, float[M] b) { a, b = Split(x, s) }";
  const auto x = tensor<float>({4}, {1, 2, 3, 4});
  const auto y = run_text(graph, {x, ir::Tensor::ints({0, 4})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{0}));
  EXPECT_THAT(values<float>(y[1]), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(run_text(graph, {x, ir::Tensor::ints({1, 4})}), Error);
  EXPECT_THROW(run_text(graph, {x, ir::Tensor::ints({5, -1})}), Error);
}

TEST(CenterCropPad, CropsOneAxisAndPadsAnother) {
  const auto y = run_text("g (string[3,1] x, int64[2] s) => (string[N,M] y) { y = CenterCropPad(x, s) }",
                          {tensor<std::string>({3, 1}, {"a", "b", "c"}), ir::Tensor::ints({2, 4})});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("", "a", "", "", "", "b", "", ""));
}

TEST(Trilu, DiagonalsBeyondTheEdges) {
  const auto run = [](std::int64_t k, int upper) {
    return values<double>(run_text("g (double[2,3] x, int64 k) => (double[2,3] y) { y = Trilu <upper = " +
                                       std::to_string(upper) + "> (x, k) }",
                                   {tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}), ir::Tensor::scalar(k)})[0]);
  };
  EXPECT_THAT(run(9, 1), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(run(-9, 1), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(INT64_MAX, 0), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(0, 0), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(run(1, 1), ElementsAre(0, 2, 3, 0, 0, 6));
}

TEST(DepthToSpace, IsUndoneBySpaceToDepth) {
  std::vector<ir::Float16> numbers;
  for (int i = 0; i < 48; ++i) numbers.emplace_back(static_cast<float>(i));
  const auto x = tensor<ir::Float16>({1, 8, 2, 3}, numbers);
  for (const std::string mode : {"DCR", "CRD"}) {
    const std::string attributes = "<blocksize = 2, mode = \"" + mode + "\">";
    const auto y = run_text("g (float16[1,8,2,3] x) => (float16[1,8,2,3] y) { t = DepthToSpace " +
                                attributes + "(x) y = SpaceToDepth " + attributes + "(t) }",
                            {x});
    EXPECT_TRUE(identical(y[0].tensor, x)) << mode;
  }
}

TEST(SpaceToDepth, KeepsTheNumbersOfAChannelTogetherWhenAsked) {
  const auto x = tensor<std::int32_t>({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto run = [&](const std::string& mode) {
    return values<std::int32_t>(run_text(
        "g (int32[1,2,2,2] x) => (int32[1,8,1,1] y) { y = SpaceToDepth <blocksize = 2" + mode + "> (x) }",
        {x})[0]);
  };
  EXPECT_THAT(run(""), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(run(", mode = \"CRD\""), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THROW(run(", mode = \"RCD\""), Error);
}

TEST(Col2Im, AddsWhatOverlapsInOneDimension) {
  // Block 2, stride 1 over 4: columns at 0, 1, 2.
  const auto y = run_text(
      "g (int32[1,2,3] x, int64[1] i, int64[1] b) => (int32[1,1,4] y) { y = Col2Im(x, i, b) }",
      {tensor<std::int32_t>({1, 2, 3}, {1, 2, 3, 10, 20, 30}), ir::Tensor::ints({4}), ir::Tensor::ints({2})});
  EXPECT_THAT(values<std::int32_t>(y[0]), ElementsAre(1, 12, 23, 30));
}

TEST(Col2Im, SumsHalvesInFloatAndDropsWhatIsPadded) {
  const ir::Float16 big(2048);
  const ir::Float16 one(1);
  // The middle element gets 2048 + 1 + 1, which one rounding makes 2050 and three would make 2048.
  const auto y = run_text(
      "g (float16[1,3,3] x) => (float16[N,C,W] y) { i = Constant <value_ints = [3]> () b = Constant "
      "<value_ints = [3]> ()"
      " y = Col2Im <pads = [1,1]> (x, i, b) }",
      {tensor<ir::Float16>({1, 3, 3}, {one, one, one, one, one, one, big, one, one})});
  EXPECT_EQ(static_cast<float>(y[0].tensor.data<ir::Float16>()[1]), 2050);
}

}  // namespace
}  // namespace podium::kernels
