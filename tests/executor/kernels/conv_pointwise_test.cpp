#include "executor/kernels/conv_pointwise.h"

#include <gtest/gtest.h>

#include "ir/ops/conv_algorithm.h"
#include "tests/support/conv_calls.h"
#include "tests/support/fusing.h"

namespace podium::kernels {
namespace {

using testing::ConvCall;
using testing::random_floats;

// Windows of one element over three images.
struct Pointwise {
  std::int64_t in_channels;
  std::int64_t out_channels;
  Dims input;
  Dims output;
  Dims strides;

  static Dims with(std::int64_t channels, const Dims& sizes) {
    Dims dims{3, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return dims;
  }
  Dims x() const { return with(in_channels, input); }
  Dims y() const { return with(out_channels, output); }
  Dims weights() const {
    Dims dims{out_channels, in_channels};
    dims.resize(2 + input.size(), 1);
    return dims;
  }
  ConvShape shape() const {
    const Dims ones(input.size(), 1);
    const Dims zeros(input.size(), 0);
    return {.window = {.input = input,
                       .kernel = ones,
                       .strides = strides,
                       .dilations = ones,
                       .pads_begin = zeros,
                       .pads_end = zeros,
                       .output = output},
            .batch = 3,
            .in_channels = in_channels,
            .out_channels = out_channels,
            .in_size = ir::element_count(input),
            .out_size = ir::element_count(output)};
  }
  ConvShape reversed_shape() const {
    ConvShape reversed = shape();
    reversed.transposed = true;
    std::swap(reversed.window.input, reversed.window.output);
    std::swap(reversed.in_channels, reversed.out_channels);
    std::swap(reversed.in_size, reversed.out_size);
    return reversed;
  }

  ConvCall conv() const {
    return {"", "Conv", random_floats(x(), 1), random_floats(weights(), 2), {{"strides", strides}}};
  }
  ConvCall transposed() const {
    Dims beside;
    for (std::size_t axis = 0; axis < input.size(); ++axis)
      beside.push_back(input[axis] - (output[axis] - 1) * strides[axis] - 1);
    return {"",
            "ConvTranspose",
            random_floats(y(), 3),
            random_floats(weights(), 4),
            {{"strides", strides}, {"output_padding", beside}}};
  }
  ConvCall weight_gradient() const {
    return {"podium",
            "ConvWeightGradient",
            random_floats(x(), 5),
            random_floats(y(), 6),
            {{"kernel_shape", Dims(input.size(), 1)}, {"strides", strides}}};
  }
};

// The last element of an axis is stood on, or one or two behind it are left.
std::vector<Pointwise> skipping() {
  return {
      {5, 7, {9}, {5}, {2}},
      {20, 33, {8, 8}, {4, 4}, {2, 2}},
      {16, 16, {7, 9}, {3, 9}, {3, 1}},
      {4, 6, {6, 5, 7}, {3, 5, 3}, {2, 1, 3}},
  };
}

TEST(ConvPointwise, ConvolvesWhatTheWindowStandsOn) {
  for (const Pointwise& one : skipping()) {
    SCOPED_TRACE(::testing::PrintToString(one.x()));
    ASSERT_TRUE(skips(one.shape()));
    ASSERT_TRUE(skips(one.reversed_shape()));
    testing::expect_near(one.conv().run(), one.conv().run_in_doubles(), 1e-5);
    testing::expect_near(one.transposed().run(), one.transposed().run_in_doubles(), 1e-5);
    testing::expect_near(one.weight_gradient().run(), one.weight_gradient().run_in_doubles(), 1e-4);
  }
}

TEST(ConvPointwise, SkipsNothingWhereAWindowStandsOnPaddingOrMovesByOne) {
  ConvShape shape = Pointwise{2, 3, {8, 8}, {4, 4}, {2, 2}}.shape();
  EXPECT_TRUE(skips(shape));
  shape.window.output = {5, 4};  // the last row of windows stands behind X
  EXPECT_FALSE(skips(shape));
  shape.window.output = {4, 4};
  shape.window.pads_begin = {1, 0};
  EXPECT_FALSE(skips(shape));
  EXPECT_FALSE(skips(Pointwise{2, 3, {8, 8}, {8, 8}, {1, 1}}.shape()));
  shape = Pointwise{2, 3, {8, 8}, {4, 4}, {2, 2}}.shape();
  shape.kernel_size = 9;
  EXPECT_FALSE(skips(shape));
}

Tensor run(const FloatConv& conv, const Tensor& x, const Tensor& weights, const Tensor* bias, const Dims& y) {
  Tensor result(DataType::Float, y);
  std::vector<std::byte> scratch(conv.scratch_bytes + 64);
  auto* first = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
  conv.run(x.data<float>(), weights.data<float>(), bias == nullptr ? nullptr : bias->data<float>(),
           result.data<float>(), first);
  return result;
}

void expect_bias(const Tensor& with, const Tensor& without, const Tensor& bias) {
  const std::int64_t size = with.size() / with.dim(0) / with.dim(1);
  for (std::int64_t i = 0; i < with.size(); ++i) {
    const float wanted = without.data<float>()[i] + bias.data<float>()[i / size % bias.size()];
    ASSERT_NEAR(with.data<float>()[i], wanted, 1e-5) << i;
  }
}

Tensor run_joined(const ConvShape& shape, const ConvCall& call, const Tensor* bias, const Dims& y) {
  auto dense = make_library_conv(with_joined_images(shape), bias != nullptr, nullptr);
  return run(make_joined_conv(shape, std::move(*dense)), call.left, call.right, bias, y);
}

// With what is skipped and without; a bias is also where a transposed window never stands.
TEST(ConvPointwise, GivesAllImagesOneProduct) {
  for (const Pointwise& one :
       {Pointwise{24, 40, {3, 5}, {3, 5}, {1, 1}}, Pointwise{24, 40, {6, 5}, {3, 3}, {2, 2}}}) {
    SCOPED_TRACE(::testing::PrintToString(one.strides));
    const Tensor bias = random_floats({40}, 7);
    const Tensor y = run_joined(one.shape(), one.conv(), nullptr, one.y());
    testing::expect_near(y, one.conv().run_in_doubles(), 1e-5);
    expect_bias(run_joined(one.shape(), one.conv(), &bias, one.y()), y, bias);

    const Tensor bias_of_x = random_floats({24}, 8);
    const Tensor x = run_joined(one.reversed_shape(), one.transposed(), nullptr, one.x());
    testing::expect_near(x, one.transposed().run_in_doubles(), 1e-5);
    expect_bias(run_joined(one.reversed_shape(), one.transposed(), &bias_of_x, one.x()), x, bias_of_x);

    const ConvCall gradient = one.weight_gradient();
    const FloatWeightGradient of_weights = make_joined_weight_gradient(one.shape());
    Tensor weights(DataType::Float, one.weights());
    std::vector<std::byte> scratch(of_weights.scratch_bytes);
    of_weights.run(gradient.left.data<float>(), gradient.right.data<float>(), weights.data<float>(),
                   scratch.data());
    testing::expect_near(weights, gradient.run_in_doubles(), 1e-4);
  }
}

TEST(ConvPointwise, JoinsImagesWhereWeightsAreManyAndColumnsAreFew) {
  EXPECT_TRUE(ir::pays_to_join_images(Pointwise{2048, 512, {7, 7}, {7, 7}, {1, 1}}.shape()));
  EXPECT_TRUE(ir::pays_to_join_images(Pointwise{1024, 2048, {14, 14}, {7, 7}, {2, 2}}.reversed_shape()));
  EXPECT_FALSE(ir::pays_to_join_images(Pointwise{256, 1024, {14, 14}, {14, 14}, {1, 1}}.shape()));
  EXPECT_FALSE(ir::pays_to_join_images(Pointwise{256, 64, {7, 7}, {7, 7}, {1, 1}}.shape()));
}

}  // namespace
}  // namespace podium::kernels
