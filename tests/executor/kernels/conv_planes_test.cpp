#include "executor/kernels/conv_planes.h"

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

constexpr std::int64_t kImages = 2;

// A depthwise convolution and its two gradients, of one to three axes; pads at the begin and at the end.
struct PlaneCase {
  std::int64_t channels;
  Dims input;
  Dims kernel;
  Dims strides;
  Dims pads;
  Dims dilations;

  std::size_t rank() const { return input.size(); }
  Dims output() const {
    Dims sizes;
    for (std::size_t axis = 0; axis < rank(); ++axis) {
      const std::int64_t extent = (kernel[axis] - 1) * dilations[axis] + 1;
      sizes.push_back((input[axis] + pads[axis] + pads[axis + rank()] - extent) / strides[axis] + 1);
    }
    return sizes;
  }
  Dims whole(std::int64_t first, std::int64_t second, const Dims& sizes) const {
    Dims dims{first, second};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return dims;
  }
  Dims x() const { return whole(kImages, channels, input); }
  Dims y() const { return whole(kImages, channels, output()); }
  Dims weights() const { return whole(channels, 1, kernel); }
  std::vector<ir::Attribute> attributes() const {
    auto all = testing::window_attributes(kernel, strides, pads, dilations);
    all.push_back({"group", channels});
    return all;
  }
  ConvShape shape() const {
    return {.window = {.input = input,
                       .kernel = kernel,
                       .strides = strides,
                       .dilations = dilations,
                       .pads_begin = Dims(pads.begin(), pads.begin() + rank()),
                       .pads_end = Dims(pads.begin() + rank(), pads.end()),
                       .output = output()},
            .batch = kImages,
            .group = channels,
            .kernel_size = ir::element_count(kernel),
            .in_size = ir::element_count(input),
            .out_size = ir::element_count(output())};
  }

  ConvCall conv() const {
    return {"", "Conv", random_floats(x(), 1), random_floats(weights(), 2), attributes()};
  }
  ConvCall transposed() const {
    return {"", "ConvTranspose", random_floats(y(), 3), random_floats(weights(), 4), attributes()};
  }
  ConvCall weight_gradient() const {
    return {"podium", "ConvWeightGradient", random_floats(x(), 5), random_floats(y(), 6), attributes()};
  }
  std::vector<ConvCall> calls() const { return {conv(), transposed(), weight_gradient()}; }
};

// Rows of fewer than eight results, of eight, of more; strides of 1, 2 and 3, also beyond the window; lines,
// planes and volumes.
std::vector<PlaneCase> plane_cases() {
  return {
      {3, {7, 7}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
      {2, {9, 8}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {5, {14, 14}, {3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}},
      {4, {15, 21}, {5, 3}, {2, 2}, {2, 1, 2, 1}, {1, 1}},
      {2, {17, 26}, {3, 3}, {3, 3}, {1, 1, 1, 1}, {1, 1}},
      {2, {12, 20}, {2, 2}, {3, 4}, {0, 0, 0, 0}, {1, 1}},
      {3, {13, 19}, {3, 5}, {1, 2}, {2, 4, 2, 4}, {2, 2}},
      {2, {6, 5}, {1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {2, {20, 24}, {7, 7}, {1, 1}, {3, 3, 3, 3}, {1, 1}},
      {2, {4, 1}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {6, {50}, {9}, {1}, {8, 0}, {1}},
      {3, {31}, {4}, {2}, {1, 1}, {3}},
      {2, {4, 6, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
      {2, {5, 7, 18}, {2, 3, 5}, {2, 2, 2}, {0, 1, 2, 1, 1, 2}, {1, 1, 1}},
  };
}

TEST(ConvPlanes, AddUpWhatTheWindowSees) {
  for (const PlaneCase& one : plane_cases()) {
    SCOPED_TRACE(::testing::PrintToString(one.x()) + ::testing::PrintToString(one.strides));
    ASSERT_TRUE(ir::pays_by_planes(one.shape()));
    for (const ConvCall& call : one.calls()) {
      SCOPED_TRACE(call.name);
      testing::expect_near(call.run(), call.run_in_doubles(), 1e-4);
    }
  }
}

// The whole of it, so that results which no window reaches are among them.
TEST(ConvPlanes, GiveATransposedPlaneOfAnySize) {
  for (const std::int64_t more : {0, 1, 2}) {
    ConvCall call = PlaneCase{2, {16, 16}, {3, 2}, {3, 3}, {0, 0, 0, 0}, {1, 1}}.transposed();
    call.attributes.push_back({"output_padding", ir::IntList{more, more}});
    SCOPED_TRACE(more);
    testing::expect_near(call.run(), call.run_in_doubles(), 1e-5);
  }
}

TEST(ConvPlanes, StartFromABias) {
  const PlaneCase one{3, {9, 12}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}};
  const FloatConv conv = make_plane_conv(one.shape());
  const ConvCall call = one.conv();
  const Tensor bias = random_floats({3}, 7);
  Tensor y(DataType::Float, one.y());
  conv.run(call.left.data<float>(), call.right.data<float>(), bias.data<float>(), y.data<float>(), nullptr);
  const Tensor without = call.run();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const float wanted = without.data<float>()[i] + bias.data<float>()[i / one.shape().out_size % 3];
    ASSERT_NEAR(y.data<float>()[i], wanted, 1e-5) << i;
  }
}

TEST(ConvPlanes, GiveTheSameBitsOnAnyNumberOfThreads) {
  const PlaneCase large{32, {40, 40}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}};
  for (const ConvCall& call : large.calls()) {
    const Tensor on_all = call.run();
    const ThreadLimit limit(1);
    EXPECT_TRUE(identical(on_all, call.run())) << call.name;
  }
}

// Lanes that belong to no result, and padding, make no NaN of an infinity.
TEST(ConvPlanes, KeepInfiniteAndMissingNumbersWhereTheWindowHasThem) {
  const PlaneCase one{2, {9, 11}, {3, 3}, {2, 1}, {1, 1, 1, 1}, {1, 1}};
  for (const float number :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (ConvCall call : one.calls()) {
      SCOPED_TRACE(call.name);
      call.left.data<float>()[call.left.size() - 1] = number;
      testing::expect_near(call.run(), call.run_in_doubles(), 1e-4);
    }
  }
}

TEST(ConvPlanes, TakeNoSumOverChannels) {
  ConvShape shape = PlaneCase{4, {9, 9}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}.shape();
  EXPECT_TRUE(ir::pays_by_planes(shape));
  shape.in_channels = 2;
  EXPECT_FALSE(ir::pays_by_planes(shape));
  shape.in_channels = 1;
  shape.group = 1;
  EXPECT_FALSE(ir::pays_by_planes(shape));
}

}  // namespace
}  // namespace podium::kernels
