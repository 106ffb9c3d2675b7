#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>

#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/near.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

std::string dims_text(const ir::Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

// One convolution; pads are begins, then ends.
struct Conv {
  ir::Dims x, w, strides, dilations, pads;
  std::int64_t group = 1;

  std::size_t rank() const { return x.size() - 2; }
  std::string attributes() const {
    std::string text = "group = " + std::to_string(group);
    if (rank() > 0) {
      text += ", strides = " + dims_text(strides) + ", dilations = " + dims_text(dilations) +
              ", pads = " + dims_text(pads);
    }
    return text;
  }
};

const Conv kConvs[] = {
    {{2, 3, 11}, {4, 3, 3}, {2}, {1}, {1, 0}},
    {{1, 4, 7, 9}, {6, 2, 3, 2}, {1, 2}, {2, 1}, {2, 0, 1, 1}, 2},
    {{2, 5, 6, 6}, {5, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 5},
    {{2, 3, 5, 4}, {4, 3, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0, 1, 1, 2}},
    {{1, 2, 3, 4, 3, 4}, {2, 2, 2, 1, 2, 3}, {1, 2, 1, 1}, {1, 1, 1, 1}, {1, 0, 0, 1, 0, 0, 0, 1}},
    {{3, 4}, {2, 4}, {}, {}, {}},
};

std::vector<double> wave(std::int64_t count, std::int64_t seed) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<double>((i * 29 + seed * 13) % 23 - 11) * 0.25);
  }
  return numbers;
}

std::int64_t kernel_size(const Conv& conv) {
  return ir::element_count(ir::Dims(conv.w.begin() + 2, conv.w.end()));
}

// Where in the plane of x output `place` sees element `tap` of the kernel; -1 for padding.
std::int64_t seen(const Conv& conv, const ir::Dims& x, const ir::Dims& y, std::int64_t tap,
                  std::int64_t place) {
  std::int64_t position = 0;
  std::int64_t stride = 1;
  for (std::size_t axis = conv.rank(); axis-- > 0;) {
    const std::int64_t at = place % y[axis + 2] * conv.strides[axis] - conv.pads[axis] +
                            tap % conv.w[axis + 2] * conv.dilations[axis];
    place /= y[axis + 2];
    tap /= conv.w[axis + 2];
    if (at < 0 || at >= x[axis + 2]) return -1;
    position += at * stride;
    stride *= x[axis + 2];
  }
  return position;
}

// Calls visit(x index, w index, y index) for every product of the convolution.
template <class Visit>
void for_each_product(const Conv& conv, const ir::Dims& x, const ir::Dims& y, const Visit& visit) {
  const std::int64_t in_group = conv.w[1];
  const std::int64_t out_group = conv.w[0] / conv.group;
  const std::int64_t in_size = ir::element_count(x) / x[0] / x[1];
  const std::int64_t out_size = ir::element_count(y) / y[0] / y[1];
  for (std::int64_t i = 0; i < ir::element_count(y); ++i) {
    const std::int64_t m = i / out_size % conv.w[0];
    const std::int64_t image = i / out_size / conv.w[0];
    for (std::int64_t c = 0; c < in_group; ++c) {
      const std::int64_t channel = image * x[1] + m / out_group * in_group + c;
      for (std::int64_t tap = 0; tap < kernel_size(conv); ++tap) {
        const std::int64_t at = seen(conv, x, y, tap, i % out_size);
        if (at >= 0) visit(channel * in_size + at, (m * in_group + c) * kernel_size(conv) + tap, i);
      }
    }
  }
}

template <class T>
ir::Datum as(const ir::Dims& dims, const std::vector<double>& numbers) {
  std::vector<T> values;
  for (double number : numbers) values.push_back(static_cast<T>(static_cast<float>(number)));
  return tensor<T>(dims, values);
}

template <class T>
void check_conv(const Conv& conv, const std::string& type, double tolerance) {
  const std::vector<double> x = wave(ir::element_count(conv.x), 1);
  const std::vector<double> w = wave(ir::element_count(conv.w), 2);
  const std::vector<double> b = wave(conv.w[0], 3);
  const auto results =
      run_text("agraph (" + type + dims_text(conv.x) + " x, " + type + dims_text(conv.w) + " w, " + type +
                   "[M] b) => (" + type + "[] y) { y = Conv <" + conv.attributes() + "> (x, w, b) }",
               {as<T>(conv.x, x), as<T>(conv.w, w), as<T>({conv.w[0]}, b)});
  const ir::Tensor& y = results[0].tensor;
  const std::int64_t plane = y.size() / y.dim(0) / y.dim(1);
  std::vector<double> expected(static_cast<std::size_t>(y.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = b[static_cast<std::int64_t>(i) / plane % conv.w[0]];
  }
  for_each_product(conv, conv.x, y.dims(), [&](std::int64_t at_x, std::int64_t at_w, std::int64_t at_y) {
    expected[at_y] += x[at_x] * w[at_w];
  });
  expect_near<T>(results[0], expected, tolerance);
}

TEST(Conv, AgreesWithItsDefinitionInEveryRankAndType) {
  for (const Conv& conv : kConvs) {
    SCOPED_TRACE(dims_text(conv.w));
    check_conv<float>(conv, "float", 1e-4);
    check_conv<double>(conv, "double", 1e-6);
    check_conv<ir::Float16>(conv, "float16", 0.05);
    check_conv<ir::Bfloat16>(conv, "bfloat16", 0.4);
  }
}

// The gradient of the convolution: what goes from x to y there goes from y to x here.
template <class T>
void check_transposed(const Conv& conv, const std::string& type, double tolerance) {
  ir::Dims y_dims{conv.x[0], conv.w[0]};  // of the convolution, the input here
  for (std::size_t i = 0; i < conv.rank(); ++i) {
    const std::int64_t extent = (conv.w[i + 2] - 1) * conv.dilations[i] + 1;
    y_dims.push_back((conv.x[i + 2] + conv.pads[i] + conv.pads[i + conv.rank()] - extent) / conv.strides[i] +
                     1);
  }
  std::string given = conv.attributes();
  if (conv.rank() > 0) {
    ir::Dims extra;
    for (std::size_t i = 0; i < conv.rank(); ++i) {
      const std::int64_t extent = (conv.w[i + 2] - 1) * conv.dilations[i] + 1;
      extra.push_back((conv.x[i + 2] + conv.pads[i] + conv.pads[i + conv.rank()] - extent) % conv.strides[i]);
    }
    given += ", output_padding = " + dims_text(extra);
  }
  const std::vector<double> y = wave(ir::element_count(y_dims), 1);
  const std::vector<double> w = wave(ir::element_count(conv.w), 2);
  const auto results = run_text("agraph (" + type + dims_text(y_dims) + " x, " + type + dims_text(conv.w) +
                                    " w) => (" + type + "[] y) { y = ConvTranspose <" + given + "> (x, w) }",
                                {as<T>(y_dims, y), as<T>(conv.w, w)});
  EXPECT_EQ(results[0].tensor.dims(), conv.x);
  std::vector<double> expected(static_cast<std::size_t>(ir::element_count(conv.x)), 0);
  for_each_product(conv, conv.x, y_dims, [&](std::int64_t at_x, std::int64_t at_w, std::int64_t at_y) {
    expected[at_x] += y[at_y] * w[at_w];
  });
  expect_near<T>(results[0], expected, tolerance);
}

TEST(ConvTranspose, IsTheGradientOfConvInEveryRankAndType) {
  for (const Conv& conv : kConvs) {
    SCOPED_TRACE(dims_text(conv.w));
    check_transposed<float>(conv, "float", 1e-4);
    check_transposed<double>(conv, "double", 1e-6);
    check_transposed<ir::Float16>(conv, "float16", 0.05);
  }
}

TEST(ConvTranspose, MakesThePaddingForTheShapeAskedFor) {
  const auto run = [](const std::string& given) {
    return run_text(
        "agraph (float[1,1,3] x, float[1,1,3] w, float[1] b) => (float[] y) {"
        " y = ConvTranspose <" +
            given + "> (x, w, b) }",
        {tensor<float>({1, 1, 3}, {1, 2, 3}), tensor<float>({1, 1, 3}, {1, 10, 100}),
         tensor<float>({1}, {0.5F})});
  };
  // Without padding: 1 10 102 20 203 30 300.
  EXPECT_EQ(values<float>(run("strides = [2], output_shape = [6], auto_pad = \"SAME_UPPER\"")[0]),
            (std::vector<float>{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F}));
  EXPECT_EQ(values<float>(run("strides = [2], auto_pad = \"SAME_LOWER\"")[0]),
            (std::vector<float>{10.5F, 102.5F, 20.5F, 203.5F, 30.5F, 300.5F}));
  EXPECT_EQ(values<float>(run("strides = [2], output_shape = [4]")[0]),
            (std::vector<float>{102.5F, 20.5F, 203.5F, 30.5F}));
  EXPECT_EQ(values<float>(run("strides = [2], output_shape = [1,1,8]")[0]),
            (std::vector<float>{1.5F, 10.5F, 102.5F, 20.5F, 203.5F, 30.5F, 300.5F, 0.5F}));
  EXPECT_EQ(values<float>(run("strides = [2], pads = [1,1]")[0]),
            (std::vector<float>{10.5F, 102.5F, 20.5F, 203.5F, 30.5F}));
}

TEST(Conv, PadsAsAutoPadSays) {
  const auto run = [](const std::string& given) {
    return values<float>(
        run_text("agraph (float[1,1,4] x, float[1,1,2] w) => (float[] y) {"
                 " y = Conv <" +
                     given + "> (x, w) }",
                 {tensor<float>({1, 1, 4}, {1, 2, 3, 4}), tensor<float>({1, 1, 2}, {1, 10})})[0]);
  };
  EXPECT_EQ(run("auto_pad = \"SAME_UPPER\""), (std::vector<float>{21, 32, 43, 4}));
  EXPECT_EQ(run("auto_pad = \"SAME_LOWER\""), (std::vector<float>{10, 21, 32, 43}));
  EXPECT_EQ(run("auto_pad = \"VALID\", kernel_shape = [2], strides = [2]"), (std::vector<float>{21, 43}));
}

TEST(Conv, OfNoImagesOrNoChannelsGivesNothingOrTheBias) {
  const auto none = run_text("agraph (float[0,1,4] x, float[1,1,2] w) => (float[] y) { y = Conv(x, w) }",
                             {tensor<float>({0, 1, 4}, {}), tensor<float>({1, 1, 2}, {1, 10})});
  EXPECT_EQ(none[0].tensor.dims(), (ir::Dims{0, 1, 3}));
  const auto bias =
      run_text("agraph (float[1,0,2] x, float[2,0,1] w, float[2] b) => (float[] y) { y = Conv(x, w, b) }",
               {tensor<float>({1, 0, 2}, {}), tensor<float>({2, 0, 1}, {}), tensor<float>({2}, {3, 4})});
  EXPECT_EQ(values<float>(bias[0]), (std::vector<float>{3, 3, 4, 4}));
}

TEST(Conv, UsesConstantWeightsToo) {
  const auto results = run_text(
      "agraph (float[1,2,2] x) => (float[] y) {"
      " w = Constant <value = float[1,2,1] {2.0, 3.0}> ()  y = Conv(x, w) }",
      {tensor<float>({1, 2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{11, 16}));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const auto run = [](const std::string& given, const ir::Dims& w) {
    return run_text("agraph (float[1,2,4] x, float" + dims_text(w) + " w) => (float[] y) { y = Conv <" +
                        given + "> (x, w) }",
                    {tensor<float>({1, 2, 4}, std::vector<float>(8)),
                     tensor<float>(w, std::vector<float>(static_cast<std::size_t>(ir::element_count(w))))});
  };
  EXPECT_NO_THROW(run("group = 2", {2, 1, 2}));
  EXPECT_THROW(run("group = 1", {2, 1, 2}), Error);
  EXPECT_THROW(run("group = 2", {3, 1, 2}), Error);
  EXPECT_THROW(run("kernel_shape = [3]", {2, 2, 2}), Error);
  EXPECT_THROW(run("pads = [-1,0]", {2, 2, 2}), Error);
  EXPECT_THROW(run("group = 1", {2, 2, 2, 2}), Error);
}

template <class X, class W>
void check_integer(const Conv& conv, const std::string& x_type, const std::string& w_type, int x_zero,
                   const std::vector<W>& w_zeros) {
  std::vector<X> x;
  std::vector<W> w;
  for (double number : wave(ir::element_count(conv.x), 1)) {
    x.push_back(static_cast<X>(static_cast<int>(number * 40) + x_zero));
  }
  for (double number : wave(ir::element_count(conv.w), 2)) {
    w.push_back(static_cast<W>(static_cast<int>(number * 44)));
  }
  const auto zeros = std::ssize(w_zeros);
  const auto results = run_text("agraph (" + x_type + dims_text(conv.x) + " x, " + w_type +
                                    dims_text(conv.w) + " w, " + x_type + " a, " + w_type +
                                    "[Z] b) => (int32[] y) {"
                                    " y = ConvInteger <" +
                                    conv.attributes() + "> (x, w, a, b) }",
                                {tensor<X>(conv.x, x), tensor<W>(conv.w, w),
                                 tensor<X>({}, {static_cast<X>(x_zero)}), tensor<W>({zeros}, w_zeros)});
  const std::int64_t weights_of_channel = ir::element_count(conv.w) / conv.w[0];
  std::vector<std::int32_t> expected(static_cast<std::size_t>(results[0].tensor.size()), 0);
  for_each_product(
      conv, conv.x, results[0].tensor.dims(), [&](std::int64_t at_x, std::int64_t at_w, std::int64_t at_y) {
        const int b = w_zeros[zeros == 1 ? 0 : static_cast<std::size_t>(at_w / weights_of_channel)];
        expected[at_y] += (x[at_x] - x_zero) * (w[at_w] - b);
      });
  EXPECT_EQ(values<std::int32_t>(results[0]), expected);
}

TEST(ConvInteger, AgreesWithItsDefinitionInEverySign) {
  for (const Conv& conv : kConvs) {
    SCOPED_TRACE(dims_text(conv.w));
    check_integer<std::uint8_t, std::uint8_t>(conv, "uint8", "uint8", 120, {77});
    check_integer<std::uint8_t, std::int8_t>(conv, "uint8", "int8", 3, {0});
    check_integer<std::int8_t, std::int8_t>(conv, "int8", "int8", -5, {-100});
    std::vector<std::uint8_t> zeros(static_cast<std::size_t>(conv.w[0]));
    for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<std::uint8_t>(i * 40);
    check_integer<std::int8_t, std::uint8_t>(conv, "int8", "uint8", 0, zeros);
  }
}

TEST(ConvInteger, NeedsNoZeroPoints) {
  const auto results =
      run_text("agraph (uint8[1,1,3] x, uint8[1,1,2] w) => (int32[] y) { y = ConvInteger(x, w) }",
               {tensor<std::uint8_t>({1, 1, 3}, {255, 255, 1}), tensor<std::uint8_t>({1, 1, 2}, {255, 255})});
  EXPECT_EQ(values<std::int32_t>(results[0]), (std::vector<std::int32_t>{130050, 65280}));
}

TEST(QLinearConv, RefusesWeightsWithoutAxesWhateverTheImagesAre) {
  EXPECT_THAT(refusal([] {
                ir::Graph graph = graph_of(
                    "g (uint8[4] a, int64[n] dims, uint8 w, float[3] ws, float s, uint8 z) => (uint8[] y) {"
                    " x = Reshape(a, dims) y = QLinearConv(x, s, z, w, ws, z, s, z) }");
                ir::infer(graph);
              }),
              ::testing::HasSubstr("w is one number, an axis of output channels needed"));
}

TEST(QLinearConv, ScalesPerChannelRoundsToEvenAndSaturates) {
  const auto results = run_text(
      "agraph (uint8[1,1,4] x, float xs, uint8 xz, int8[2,1,1] w, float[2] ws, int8[2] wz, float ys, int8 "
      "yz, int32[2] b)"
      " => (int8[] y) { y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b) }",
      {tensor<std::uint8_t>({1, 1, 4}, {10, 11, 13, 255}), tensor<float>({}, {0.5F}),
       tensor<std::uint8_t>({}, {10}), tensor<std::int8_t>({2, 1, 1}, {1, -3}), tensor<float>({2}, {1, 2}),
       tensor<std::int8_t>({2}, {0, 1}), tensor<float>({}, {1}), tensor<std::int8_t>({}, {1}),
       tensor<std::int32_t>({2}, {0, 4})});
  // (x - 10) * 1 * 0.5 and ((x - 10) * -4 + 4) * 1, each plus 1.
  EXPECT_EQ(values<std::int8_t>(results[0]), (std::vector<std::int8_t>{1, 1, 3, 123, 5, 1, -7, -128}));
}

TEST(DeformConv, WithoutOffsetsIsConv) {
  const Conv& conv = kConvs[1];
  const std::vector<double> x = wave(ir::element_count(conv.x), 1);
  const std::vector<double> w = wave(ir::element_count(conv.w), 2);
  const ir::Dims offsets{1, 2 * 6 * 2, 6, 5};
  const auto results = run_text(
      "agraph (double[1,4,7,9] x, double[6,2,3,2] w, double[1,24,6,5] o) => (double[] y, double[] z) {"
      " y = Conv <" +
          conv.attributes() +
          "> (x, w)"
          " z = DeformConv <" +
          conv.attributes() + ", offset_group = 2> (x, w, o) }",
      {as<double>(conv.x, x), as<double>(conv.w, w),
       tensor<double>(offsets,
                      std::vector<double>(static_cast<std::size_t>(ir::element_count(offsets)), 0))});
  const auto y = values<double>(results[0]);
  const auto z = values<double>(results[1]);
  ASSERT_EQ(y.size(), z.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-9);
}

TEST(DeformConv, InterpolatesMasksAndSeesZeroOutside) {
  const auto results = run_text(
      "agraph (float[1,1,2,2] x, float[1,1,1,1] w, float[1,2,2,2] o, float[1] b, float[1,1,2,2] m) => (float "
      "y) {"
      " y = DeformConv(x, w, o, b, m) }",
      {tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}), tensor<float>({1, 1, 1, 1}, {10}),
       tensor<float>({1, 2, 2, 2}, {0.5F, -0.5F, 0, 1e20F, 0.5F, 0, 0.25F, 0}), tensor<float>({1}, {1}),
       tensor<float>({1, 1, 2, 2}, {1, 2, 1, 1})});
  // (0.5, 0.5): 2.5; (-0.5, 1): half of 2, twice; (1, 0.25): 3.25; far outside: 0.
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{26, 21, 33.5F, 1}));
}

TEST(CausalConvWithState, InTwoStepsGivesWhatItGivesInOne) {
  const std::vector<double> x = wave(2 * 3 * 6, 1);
  std::vector<double> first;
  std::vector<double> second;
  for (std::size_t i = 0; i < x.size(); ++i) (i % 6 < 2 ? first : second).push_back(x[i]);
  const auto results = run_text(
      "agraph (float[2,3,6] x, float[2,3,2] p, float[2,3,4] q, float[3,1,4] w, float[3] b) => (float[] y, "
      "float[] u, float[] v, float[] s, float[] t) {"
      " y, s = CausalConvWithState <activation = \"silu\"> (x, w, b)"
      " u, r = CausalConvWithState <activation = \"swish\"> (p, w, b)"
      " v, t = CausalConvWithState <activation = \"silu\"> (q, w, b, r) }",
      {as<float>({2, 3, 6}, x), as<float>({2, 3, 2}, first), as<float>({2, 3, 4}, second),
       as<float>({3, 1, 4}, wave(12, 2)), as<float>({3}, {0.5, 0, -1})});
  const auto y = values<float>(results[0]);
  const auto u = values<float>(results[1]);
  const auto v = values<float>(results[2]);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t t = 0; t < 6; ++t) {
      EXPECT_FLOAT_EQ(y[row * 6 + t], t < 2 ? u[row * 2 + t] : v[row * 4 + t - 2]);
    }
  }
  EXPECT_EQ(values<float>(results[3]), values<float>(results[4]));
}

TEST(CausalConvWithState, AddsTheBiasAndKeepsTheLastInputs) {
  const auto results = run_text(
      "agraph (double[1,1,3] x, double[1,1,2] w, double[1] b, double[1,1,1] p) => (double[] y, double[] s) {"
      " y, s = CausalConvWithState(x, w, b, p) }",
      {tensor<double>({1, 1, 3}, {1, 2, 3}), tensor<double>({1, 1, 2}, {10, 1}), tensor<double>({1}, {0.5}),
       tensor<double>({1, 1, 1}, {7})});
  EXPECT_EQ(values<double>(results[0]), (std::vector<double>{71.5, 12.5, 23.5}));
  EXPECT_EQ(values<double>(results[1]), (std::vector<double>{3}));
}

TEST(CausalConvWithState, RoundsEachStepToItsType) {
  // The products give 1 + 2^-11, which is 1 in half; the bias takes that 1 away.
  const auto results = run_text(
      "agraph (float16[1,1,1] x, float16[1,1,2] w, float16[1] b, float16[1,1,1] p) => (float16[] y) {"
      " y, s = CausalConvWithState(x, w, b, p) }",
      {as<ir::Float16>({1, 1, 1}, {1}), as<ir::Float16>({1, 1, 2}, {std::ldexp(1, -11), 1}),
       as<ir::Float16>({1}, {-1}), as<ir::Float16>({1, 1, 1}, {1})});
  EXPECT_EQ(static_cast<float>(results[0].tensor.data<ir::Float16>()[0]), 0.0F);
}

TEST(ConvTranspose, TakesTheFirstNumbersOfALongerBias) {
  const auto results = run_text(
      "agraph (float[1,1,1] x, float[1,2,1] w, float[3] b) => (float[] y) { y = ConvTranspose(x, w, b) }",
      {tensor<float>({1, 1, 1}, {2}), tensor<float>({1, 2, 1}, {1, 10}), tensor<float>({3}, {1, 2, 3})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{3, 22}));
}

}  // namespace
}  // namespace podium::testing
