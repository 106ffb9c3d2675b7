#include "ir/ops/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/builder.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kAny = kUnknown;

// "float[...]" of the first output of an op whose inputs are float tensors of these shapes.
std::string inferred(std::string_view op, const std::vector<Dims>& shapes,
                     std::vector<Attribute> attributes = {}) {
  Graph graph;
  Builder build(graph);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(build.input("x" + std::to_string(i), Type::tensor(DataType::Float, shapes[i])));
  }
  return to_string(build.type(build.op(op, inputs, std::move(attributes))));
}

TEST(WindowInference, PassesUnknownSizesOn) {
  EXPECT_EQ(inferred("Conv", {{kAny, 3, kAny, 8}, {4, 3, 3, 3}}), "float[?,4,?,6]");
  EXPECT_EQ(inferred("Conv", {{1, kAny, 8}, {kAny, 3, kAny}}), "float[1,?,?]");
  EXPECT_EQ(inferred("ConvTranspose", {{kAny, 3, kAny, 8}, {3, 2, 3, 3}}, {{"group", std::int64_t{3}}}),
            "float[?,6,?,10]");
  EXPECT_EQ(inferred("MaxPool", {{kAny, 3, kAny, 8}}, {{"kernel_shape", IntList{2, 2}}}), "float[?,3,?,7]");
  EXPECT_EQ(inferred("GlobalAveragePool", {{kAny, 3, kAny, 8}}), "float[?,3,1,1]");
}

TEST(WindowInference, KnowsWhatAutoPadMakesOfEveryStride) {
  for (std::int64_t stride = 1; stride < 5; ++stride) {
    for (std::int64_t size = 1; size < 12; ++size) {
      const std::string expected = "float[1,1," + std::to_string((size + stride - 1) / stride) + "]";
      for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
        EXPECT_EQ(inferred("Conv", {{1, 1, size}, {1, 1, 3}},
                           {{"auto_pad", std::string(pad)}, {"strides", IntList{stride}}}),
                  expected);
      }
    }
  }
}

TEST(WindowInference, RefusesSizesWhoseProductsNoNumberHolds) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto refused = [](std::string_view op, const std::vector<Dims>& shapes,
                          std::vector<Attribute> attributes) {
    return testing::refusal([&] { inferred(op, shapes, std::move(attributes)); });
  };
  EXPECT_THAT(refused("Conv", {{0, 1, kHuge}, {1, 1, 3}}, {}), HasSubstr("at most 1073741823 needed"));
  EXPECT_THAT(refused("Conv", {{0, 1, 8}, {0, 1, kHuge}}, {}), HasSubstr("at most 1073741823 needed"));
  EXPECT_THAT(refused("Conv", {{1, 1, 8}, {1, 1, kAny}},
                      {{"kernel_shape", IntList{std::numeric_limits<std::int64_t>::min()}}}),
              HasSubstr("at least 0 needed"));
  EXPECT_THAT(refused("Conv", {{1, 2, 8}, {1, 2, 3}}, {{"group", std::numeric_limits<std::int64_t>::max()}}),
              HasSubstr("at most 63 bits needed"));
  EXPECT_THAT(refused("MaxPool", {{1, 2, 8}}, {{"kernel_shape", IntList{kHuge}}}),
              HasSubstr("at most 1073741823 needed"));
}

TEST(WindowInference, RefusesWindowsThatReachOverMoreThan32BitsCount) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max() / 2;
  EXPECT_EQ(inferred("Conv", {{1, 1, 8}, {1, 1, 3}}, {{"strides", IntList{kLargest}}}), "float[1,1,1]");
  const auto refused = [](std::string_view op, std::vector<Attribute> attributes) {
    return testing::refusal([&] { inferred(op, {{1, 1, 8}, {1, 1, 3}}, std::move(attributes)); });
  };
  for (const char* op : {"Conv", "ConvTranspose"}) {
    EXPECT_THAT(refused(op, {{"strides", IntList{kLargest + 1}}}), HasSubstr("at most 1073741823 needed"))
        << op;
    EXPECT_THAT(refused(op, {{"dilations", IntList{kLargest / 2 + 1}}, {"pads", IntList{kLargest, 0}}}),
                HasSubstr("windows reach over 10737418"))
        << op;
  }
  for (const std::int64_t size : {std::numeric_limits<std::int64_t>::min(), kLargest + 1}) {
    EXPECT_THAT(refused("ConvTranspose", {{"output_shape", IntList{size}}}),
                HasSubstr(size < 0 ? "at least 0 needed" : "at most 1073741823 needed"));
  }
  EXPECT_THAT(refused("Conv", {{"pads", IntList{kLargest - 4, 0}}}),
              HasSubstr("windows reach over 1073741827 elements of spatial axis 0"));
  EXPECT_THAT(refused("ConvTranspose", {{"strides", IntList{kLargest / 4}}}),
              HasSubstr("windows reach over 1879048188 elements of spatial axis 0"));
}

TEST(WindowInference, TapsSeeExactlyTheInput) {
  const Window window{.input = {5},
                      .kernel = {4},
                      .strides = {2},
                      .dilations = {3},
                      .pads_begin = {4},
                      .pads_end = {6},
                      .output = {3}};
  const std::vector<Tap> taps = taps_of(window, 0);
  ASSERT_EQ(taps.size(), 4U);
  for (const Tap& tap : taps) {
    for (std::int64_t o = 0; o < 3; ++o) {
      const std::int64_t at = o * 2 + tap.shift;
      EXPECT_EQ(at >= 0 && at < 5, o >= tap.begin && o < tap.end) << "shift " << tap.shift << " output " << o;
    }
  }
}

// Rounded up or down, padded by hand or not: stated plainly, the window sees the same.
TEST(WindowInference, StatesAWindowWithAsManyOutputs) {
  for (const std::int64_t ceil_mode : {0, 1}) {
    for (const char* auto_pad : {"NOTSET", "SAME_UPPER", "VALID"}) {
      for (std::int64_t size = 4; size < 14; ++size) {
        Op op{.spec = find_op("", "MaxPool")};
        op.attributes = {{"kernel_shape", IntList{3}},
                         {"strides", IntList{4}},
                         {"pads", IntList{1, 2}},
                         {"auto_pad", std::string(auto_pad)},
                         {"ceil_mode", ceil_mode}};
        const Window window = pool_window(TypedOp(op), {1, 1, size});
        Op plain{.spec = op.spec, .attributes = window_attributes(window)};
        const Window again = pool_window(TypedOp(plain), {1, 1, size});
        EXPECT_EQ(again.output, window.output);
        EXPECT_EQ(again.pads_begin, window.pads_begin);
        EXPECT_EQ(given_window(TypedOp(plain), {size}, window.output).output, window.output);
      }
    }
  }
}

TEST(WindowInference, CountsWhatEachWindowSees) {
  const Window window{.input = {4},
                      .kernel = {3},
                      .strides = {2},
                      .dilations = {1},
                      .pads_begin = {1},
                      .pads_end = {1},
                      .output = {3}};
  EXPECT_EQ(seen_counts(window, 0, false), (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_EQ(seen_counts(window, 0, true), (std::vector<std::int64_t>{3, 3, 2}));
}

TEST(WindowInference, NamesWhatDoesNotFit) {
  const auto message = [](std::string_view op, const std::vector<Dims>& shapes,
                          std::vector<Attribute> attributes) {
    try {
      inferred(op, shapes, std::move(attributes));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_THAT(message("Conv", {{1, 3, 8}, {4, 2, 3}}, {}), ::testing::HasSubstr("input has 3 channels"));
  EXPECT_THAT(message("Conv", {{1, 3, 2}, {4, 3, 5}}, {}),
              ::testing::HasSubstr("a window of 5 does not fit"));
  EXPECT_THAT(message("MaxPool", {{1, 3, 8}}, {{"kernel_shape", IntList{2}}, {"strides", IntList{1, 1}}}),
              ::testing::HasSubstr("strides is [1,1], 1 entries needed"));
  EXPECT_THAT(message("LayerNormalization", {{2, 3}, {4}}, {}), ::testing::HasSubstr("[2,3]"));
}

// The padding, with what the last window needs, of a convolution of one channel.
Dims pads_of_conv(const Dims& x, const Dims& kernel, std::vector<Attribute> attributes) {
  const Op op{.spec = find_op("", "Conv"), .attributes = std::move(attributes)};
  Dims weights{1, 1};
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  return covering_pads(conv_window(TypedOp(op), x, weights));
}

TEST(ConvWindow, FillsInWhatIsLeftOut) {
  const Op op{.spec = find_op("", "Conv")};
  const Window window = conv_window(TypedOp(op), {1, 4, 9, 8}, {5, 4, 3, 2});
  EXPECT_EQ(window.strides, (Dims{1, 1}));
  EXPECT_EQ(window.dilations, (Dims{1, 1}));
  EXPECT_EQ(window.output, (Dims{7, 7}));
  EXPECT_EQ(covering_pads(window), (Dims{0, 0, 0, 0}));
}

TEST(CoveringPads, ShareThePaddingOfSame) {
  const std::vector<Attribute> strides{{"strides", IntList{2}}};
  auto upper = strides;
  upper.push_back({"auto_pad", std::string("SAME_UPPER")});
  auto lower = strides;
  lower.push_back({"auto_pad", std::string("SAME_LOWER")});
  EXPECT_EQ(pads_of_conv({1, 1, 7}, {4}, upper), (Dims{1, 2}));
  EXPECT_EQ(pads_of_conv({1, 1, 7}, {4}, lower), (Dims{2, 1}));
}

TEST(CoveringPads, AreNotNegativeForSame) {
  EXPECT_EQ(pads_of_conv({1, 1, 9}, {1}, {{"strides", IntList{3}}, {"auto_pad", std::string("SAME_UPPER")}}),
            (Dims{0, 0}));
}

TEST(CoveringPads, ReachTheEndOfAWindowThatRoundingUpAdded) {
  const Op pool{.spec = find_op("", "MaxPool"),
                .attributes = {{"kernel_shape", IntList{3}},
                               {"strides", IntList{2}},
                               {"pads", IntList{0, 0}},
                               {"ceil_mode", std::int64_t{1}}}};
  EXPECT_EQ(covering_pads(pool_window(TypedOp(pool), {1, 1, 6})), (Dims{0, 1}));
}

TEST(CoveringPads, CountDilations) {
  EXPECT_EQ(
      pads_of_conv({1, 1, 5}, {3}, {{"dilations", IntList{3}}, {"auto_pad", std::string("SAME_UPPER")}}),
      (Dims{3, 3}));
}

TEST(CoveringPads, KeepWhatNoWindowReaches) {
  EXPECT_EQ(pads_of_conv({1, 1, 6}, {3}, {{"strides", IntList{2}}, {"pads", IntList{1, 2}}}), (Dims{1, 2}));
}

}  // namespace
}  // namespace podium::ir
