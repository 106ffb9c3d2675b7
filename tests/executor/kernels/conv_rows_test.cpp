#include "executor/kernels/conv_rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "executor/kernels/tools/thread_limit.h"
#include "ir/ops/conv_algorithm.h"
#include "tests/support/conv_calls.h"
#include "tests/support/fusing.h"

namespace podium::kernels {
namespace {

using testing::ConvCall;
using testing::random_floats;
using testing::window_attributes;

// A convolution of two images and the two of its gradients; channels of a group, pads at the begin and at the
// end.
struct Case {
  std::int64_t in_channels;
  std::int64_t out_channels;
  Dims input;
  Dims kernel;
  Dims strides = {1, 1};
  Dims pads = {0, 0, 0, 0};
  Dims dilations = {1, 1};
  std::int64_t groups = 1;

  Dims output() const {
    Dims sizes;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t extent = (kernel[axis] - 1) * dilations[axis] + 1;
      sizes.push_back((input[axis] + pads[axis] + pads[axis + 2] - extent) / strides[axis] + 1);
    }
    return sizes;
  }
  Dims x() const { return {2, groups * in_channels, input[0], input[1]}; }
  Dims y() const { return {2, groups * out_channels, output()[0], output()[1]}; }
  Dims weights() const { return {groups * out_channels, in_channels, kernel[0], kernel[1]}; }
  std::vector<ir::Attribute> window() const {
    std::vector<ir::Attribute> attributes = window_attributes(kernel, strides, pads, dilations);
    attributes.push_back({"group", groups});
    return attributes;
  }

  ConvShape shape() const {
    return {.window = {.input = input,
                       .kernel = kernel,
                       .strides = strides,
                       .dilations = dilations,
                       .pads_begin = {pads[0], pads[1]},
                       .pads_end = {pads[2], pads[3]},
                       .output = output()},
            .batch = 2,
            .group = groups,
            .in_channels = in_channels,
            .out_channels = out_channels,
            .kernel_size = kernel[0] * kernel[1],
            .in_size = input[0] * input[1],
            .out_size = output()[0] * output()[1]};
  }
  ConvShape reversed_shape() const {
    ConvShape shape = this->shape();
    shape.transposed = true;
    std::swap(shape.window.input, shape.window.output);
    std::swap(shape.in_channels, shape.out_channels);
    std::swap(shape.in_size, shape.out_size);
    return shape;
  }

  ConvCall conv() const { return {"", "Conv", random_floats(x(), 1), random_floats(weights(), 2), window()}; }
  ConvCall transposed() const {
    return {"", "ConvTranspose", random_floats(y(), 3), random_floats(weights(), 4), window()};
  }
  ConvCall weight_gradient() const {
    return {"podium", "ConvWeightGradient", random_floats(x(), 5), random_floats(y(), 6), window()};
  }
};

// Rows of 8, 9, 15 and 24 results; all counts of channels at once; each kind of window.
std::vector<Case> cases() {
  return {
      {1, 10, {28, 28}, {5, 5}},
      {10, 20, {12, 12}, {5, 5}},
      {3, 1, {9, 16}, {3, 2}},
      {2, 3, {7, 17}, {3, 3}, {2, 1}, {1, 1, 1, 1}},
      {4, 6, {6, 20}, {2, 3}, {1, 1}, {0, 0, 2, 3}, {2, 3}},
      {5, 11, {11, 15}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {1, 7, {9, 22}, {1, 7}, {3, 1}, {0, 3, 0, 3}},
      {6, 9, {8, 8}, {5, 1}, {1, 1}, {4, 0, 1, 0}},
  };
}

TEST(ConvRows, AddsUpWhatTheWindowSees) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(::testing::PrintToString(one.weights()));
    ASSERT_TRUE(ir::pays_by_rows(one.shape()));
    testing::expect_near(one.conv().run(), one.conv().run_in_doubles(), 1e-4);
    testing::expect_near(one.weight_gradient().run(), one.weight_gradient().run_in_doubles(), 1e-3);
  }
}

TEST(ConvRows, TakesGroupsOfFewChannels) {
  const std::vector<Case> grouped = {
      {4, 4, {14, 14}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 8},
      {2, 6, {9, 11}, {3, 3}, {2, 1}, {1, 1, 1, 1}, {1, 1}, 3},
      {6, 2, {9, 12}, {3, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2},
      {4, 4, {8, 9}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 5},
  };
  for (const Case& one : grouped) {
    SCOPED_TRACE(::testing::PrintToString(one.weights()));
    ASSERT_TRUE(ir::pays_by_rows(one.shape()));
    testing::expect_near(one.conv().run(), one.conv().run_in_doubles(), 1e-4);
    testing::expect_near(one.transposed().run(), one.transposed().run_in_doubles(), 1e-4);
    testing::expect_near(one.weight_gradient().run(), one.weight_gradient().run_in_doubles(), 1e-3);
  }
}

TEST(ConvRows, KeepInfiniteNumbersOfAGroupInIt) {
  const Case one{4, 4, {14, 14}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 3};
  for (ConvCall call : {one.conv(), one.transposed(), one.weight_gradient()}) {
    SCOPED_TRACE(call.name);
    call.left.data<float>()[14 * 14 * 5 + 3] = std::numeric_limits<float>::infinity();
    testing::expect_near(call.run(), call.run_in_doubles(), 1e-3);
  }
}

TEST(ConvRows, MirrorsATransposedWindow) {
  const std::vector<Case> transposed = {
      {3, 16, {16, 16}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {1, 12, {13, 21}, {3, 5}, {1, 1}, {0, 2, 1, 4}},
      {2, 5, {20, 20}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
  };
  for (const Case& one : transposed) {
    SCOPED_TRACE(::testing::PrintToString(one.weights()));
    ASSERT_TRUE(ir::pays_by_rows(one.reversed_shape()));
    testing::expect_near(one.transposed().run(), one.transposed().run_in_doubles(), 1e-4);
  }
}

TEST(ConvRows, AddUpWhatTheWindowOfALineSees) {
  const ConvShape shape{.window = {.input = {21},
                                   .kernel = {5},
                                   .strides = {1},
                                   .dilations = {2},
                                   .pads_begin = {3},
                                   .pads_end = {5},
                                   .output = {21}},
                        .batch = 2,
                        .in_channels = 3,
                        .out_channels = 4,
                        .kernel_size = 5,
                        .in_size = 21,
                        .out_size = 21};
  ASSERT_TRUE(ir::pays_by_rows(shape));
  const auto attributes = window_attributes({5}, {1}, {3, 5}, {2});
  const std::vector<ConvCall> calls = {
      {"", "Conv", random_floats({2, 3, 21}, 1), random_floats({4, 3, 5}, 2), attributes},
      {"", "ConvTranspose", random_floats({2, 4, 21}, 3), random_floats({4, 3, 5}, 4), attributes},
      {"podium", "ConvWeightGradient", random_floats({2, 3, 21}, 5), random_floats({2, 4, 21}, 6),
       attributes}};
  for (const ConvCall& call : calls) {
    SCOPED_TRACE(call.name);
    testing::expect_near(call.run(), call.run_in_doubles(), 1e-4);
  }
}

TEST(ConvRows, StartFromABias) {
  const Case one{2, 5, {9, 12}, {3, 3}};
  const FloatConv conv = make_row_conv(one.shape());
  const ConvCall call = one.conv();
  const Tensor bias = random_floats({5}, 7);
  Tensor y(DataType::Float, one.y());
  std::vector<float> scratch(conv.scratch_bytes / sizeof(float));
  conv.run(call.left.data<float>(), call.right.data<float>(), bias.data<float>(), y.data<float>(),
           reinterpret_cast<std::byte*>(scratch.data()));
  const Tensor without = call.run();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const float wanted = without.data<float>()[i] + bias.data<float>()[i / one.shape().out_size % 5];
    ASSERT_NEAR(y.data<float>()[i], wanted, 1e-5) << i;
  }
}

TEST(ConvRows, GiveTheSameBitsOnAnyNumberOfThreads) {
  for (const Case& one : cases()) {
    for (const ConvCall& call : {one.conv(), one.weight_gradient()}) {
      const Tensor on_all = call.run();
      const ThreadLimit limit(1);
      EXPECT_TRUE(identical(on_all, call.run())) << call.name;
    }
  }
}

TEST(ConvRows, GiveAnImageTheSameBitsInABatchOfAnySize) {
  const Case one{2, 5, {9, 12}, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  ConvCall call = one.conv();
  const Tensor two = call.run();
  Tensor first(DataType::Float, {1, 2, 9, 12});
  std::copy_n(call.left.data<float>(), first.size(), first.data<float>());
  call.left = first;
  const Tensor alone = call.run();
  EXPECT_TRUE(std::equal(alone.values<float>().begin(), alone.values<float>().end(), two.data<float>()));
}

// A lane that is counted twice, or none of the window's, makes no NaN of an infinity.
TEST(ConvRows, KeepInfiniteAndMissingNumbersWhereTheWindowHasThem) {
  const Case one{2, 5, {9, 12}, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  for (const float number :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (ConvCall call : {one.conv(), one.weight_gradient()}) {
      SCOPED_TRACE(call.name);
      call.left.data<float>()[call.left.size() / 2] = number;
      testing::expect_near(call.run(), call.run_in_doubles(), 1e-3);
    }
  }
}

}  // namespace
}  // namespace podium::kernels
