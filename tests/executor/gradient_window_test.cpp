// Gradients of convolutions, pools and what resamples images, against central differences in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;

const std::string kConvHead = "g (double[] x, double[] w, double[] b) => (double[] y) { y = ";

// The shapes of x and w, and the attributes.
struct Case {
  ir::Dims x, w;
  std::string attributes;
};

void expect_conv_gradients(const std::string& op, const Case& of, std::int64_t channels) {
  expect_gradients_of_differences(kConvHead + op + " <" + of.attributes + "> (x, w, b) }",
                                  {numbers(of.x), numbers(of.w, 1), numbers({channels}, 2)});
}

TEST(Gradients, OfConvolutions) {
  const std::vector<Case> cases{
      {{2, 3, 7}, {4, 3, 3}, "group = 1"},
      {{2, 3, 8}, {4, 3, 3}, "strides = [2], pads = [1, 0]"},
      {{1, 4, 5, 6}, {6, 2, 3, 2}, "group = 2, strides = [2, 1], dilations = [1, 2], pads = [2, 0, 1, 1]"},
      {{2, 3, 5, 5}, {3, 1, 3, 3}, "group = 3, pads = [1, 1, 1, 1]"},
      {{2, 2, 4, 3}, {3, 2, 1, 1}, "strides = [3, 2]"},
      {{1, 2, 4, 3, 5}, {2, 2, 2, 3, 2}, "strides = [1, 2, 3], dilations = [2, 1, 1], pads = [0, 1, 0, 1, 1, 2]"},
      {{1, 1, 3, 2, 3, 2}, {2, 1, 2, 1, 2, 2}, "pads = [1, 0, 0, 0, 0, 0, 0, 1]"},
      {{2, 3}, {4, 3}, "group = 1"},
  };
  for (const Case& one : cases) expect_conv_gradients("Conv", one, one.w[0]);
  for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    for (const char* strides : {"[1, 1]", "[3, 2]"}) {
      const std::string attributes = std::string("auto_pad = \"") + auto_pad + "\", strides = " + strides;
      expect_conv_gradients("Conv", {{1, 2, 5, 6}, {2, 2, 2, 3}, attributes}, 2);
    }
  }
}

TEST(Gradients, OfTransposedConvolutions) {
  const std::vector<Case> cases{
      {{2, 3, 5}, {3, 4, 3}, "group = 1"},
      {{1, 4, 3, 4}, {4, 3, 3, 2}, "group = 2, strides = [2, 3], dilations = [2, 1], pads = [1, 0, 0, 1]"},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, "strides = [2, 3], pads = [1, 1, 1, 1], output_padding = [1, 2]"},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, "strides = [2, 3], output_shape = [6, 10]"},
      // More elements than windows reach: zeros, at whose places no weight is seen.
      {{1, 2, 3, 3}, {2, 2, 2, 2}, "strides = [1, 2], output_shape = [6, 9]"},
      {{2, 3, 4, 4}, {3, 1, 3, 3}, "group = 3, strides = [2, 2]"},
      {{1, 2, 2, 3, 2}, {2, 2, 2, 2, 3}, "strides = [2, 1, 2]"},
      {{1, 2, 3, 3}, {2, 2, 4, 3}, "auto_pad = \"SAME_UPPER\", strides = [2, 2]"},
      {{1, 2, 3, 3}, {2, 2, 4, 3}, "auto_pad = \"SAME_LOWER\", strides = [3, 1]"},
  };
  for (const Case& one : cases) {
    const std::int64_t group = one.attributes.find("group = 2") == 0 ? 2 : one.attributes.find("group = 3") == 0 ? 3 : 1;
    expect_conv_gradients("ConvTranspose", one, one.w[1] * group);
  }
  // Of a longer bias the first numbers count.
  expect_conv_gradients("ConvTranspose", {{1, 2, 3}, {2, 1, 2}, "group = 1"}, 3);
}

TEST(Gradients, OfCausalConvolutionsWithState) {
  for (const char* activation : {"none", "silu"}) {
    const std::string op = std::string(" = CausalConvWithState <activation = \"") + activation + "\"> ";
    expect_gradients_of_differences("g (double[] x, double[] w, double[] b, double[] p) => (double[] y) { y" + op +
                                        "(x, w, b, p) }",
                                    {numbers({2, 3, 5}), numbers({3, 1, 4}, 1), numbers({3}, 2), numbers({2, 3, 3}, 3)});
    expect_gradients_of_differences("g (double[] x, double[] w) => (double[] s) { y, s" + op + "(x, w) }",
                                    {numbers({2, 3, 5}), numbers({3, 1, 4}, 1)});
    expect_gradients_of_differences("g (double[] x, double[] w, double[] p) => (double[] z) { y, s" + op +
                                        "(x, w, , p) e = Exp (s) z = Concat <axis = 2> (e, y) }",
                                    {numbers({2, 3, 2}), numbers({3, 1, 4}, 1), numbers({2, 3, 3}, 3)});
  }
}

// The gradient with respect to each input of a gradient that depends on all of them.
void expect_second_gradients(const std::string& op, const ir::Dims& x, const ir::Dims& w) {
  for (const char* first : {"x", "w"}) {
    const std::string other = first == std::string("x") ? "w" : "x";
    expect_gradients_of_differences("g (double[] x, double[] w) => (double[] d) { y = " + op +
                                        " (x, w) z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"" + first +
                                        "\"], zs = [\"" + other + "\"], y = \"z\"> (" + first + ", " + other + ") }",
                                    {numbers(x), numbers(w, 1)});
  }
}

TEST(Gradients, OfGradientsOfConvolutions) {
  expect_second_gradients("Conv <strides = [2, 1], pads = [1, 0, 0, 1], group = 2>", {1, 2, 4, 3}, {2, 1, 2, 2});
  expect_second_gradients("ConvTranspose <strides = [2, 1], output_padding = [1, 0]>", {1, 1, 2, 2}, {1, 2, 2, 2});
  expect_second_gradients("ConvTranspose <strides = [1], output_shape = [5]>", {1, 1, 2}, {1, 1, 2});
}

void expect_pool_gradients(const std::string& op, const ir::Dims& x) {
  expect_gradients_of_differences("g (double[] x) => (double[] y) { y = " + op + " (x) }", {numbers(x)});
}

TEST(Gradients, OfPools) {
  for (const std::string op : {"AveragePool", "AveragePool <count_include_pad = 1, ", "MaxPool", "LpPool", "LpPool <p = 1, ",
                               "LpPool <p = 3, "}) {
    const std::string start = op.back() == ' ' ? op : op + " <";
    expect_pool_gradients(start + "kernel_shape = [3]>", {2, 3, 7});
    expect_pool_gradients(start + "kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 2, 1]>", {2, 2, 6, 7});
    expect_pool_gradients(start + "kernel_shape = [2, 2], dilations = [2, 3], strides = [2, 1]>", {1, 2, 6, 5});
    expect_pool_gradients(start + "kernel_shape = [3, 2], strides = [2, 3], ceil_mode = 1, pads = [1, 0, 0, 0]>", {1, 2, 6, 6});
    expect_pool_gradients(start + "kernel_shape = [2, 3, 2], strides = [1, 2, 2], pads = [0, 1, 1, 0, 1, 0]>", {1, 2, 3, 4, 5});
    for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
      expect_pool_gradients(start + "kernel_shape = [3, 2], strides = [2, 2], auto_pad = \"" + auto_pad + "\">", {1, 2, 5, 6});
    }
  }
}

TEST(Gradients, OfMaximaWhoseIndicesAreAskedFor) {
  expect_gradients_of_differences("g (double[] x) => (double[] y) { y, i = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x) }",
                                  {numbers({1, 2, 3, 4})});
}

TEST(Gradients, OfEqualMaximaGoToTheFirst) {
  const testing::Tensors found = testing::gradients("g (double[] x) => (double[] y) { y = MaxPool <kernel_shape = [2], strides = [2]> (x) }",
                                                    {testing::tensor<double>({1, 1, 4}, {3, 3, 1, 1})});
  EXPECT_THAT(testing::values<double>(found[0]), ::testing::ElementsAre(testing::weight(0), 0, testing::weight(1), 0));
}

TEST(Gradients, OfGlobalPools) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "GlobalLpPool <p = 1>", "GlobalLpPool <p = 4>"}) {
    expect_pool_gradients(op, {2, 3, 4});
    expect_pool_gradients(op, {2, 1, 2, 2, 3});
  }
}

TEST(Gradients, AreZeroWhereANormIs) {
  const testing::Tensors found = testing::gradients("g (double[] x) => (double[] y) { y = LpPool <kernel_shape = [2]> (x) }",
                                                    {testing::tensor<double>({1, 1, 3}, {0, 0, 0})});
  EXPECT_EQ(testing::values<double>(found[0]), (std::vector<double>{0, 0, 0}));
}

TEST(Gradients, OfMaximaPutBack) {
  const auto indices = testing::tensor<std::int64_t>({1, 1, 2, 2}, {5, 2, 8, 15});
  const std::string start = "g (double[] x, int64[] i) => (double[] y) { s = Constant <value_ints = ";
  expect_gradients_of_differences("g (double[] x, int64[] i) => (double[] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }",
                                  {numbers({1, 1, 2, 2}), indices});
  for (const char* shape : {"[1, 1, 5, 6]", "[1, 1, 3, 4]"}) {
    expect_gradients_of_differences(start + shape + "> () y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }",
                                    {numbers({1, 1, 2, 2}), indices});
  }
}

TEST(Gradients, OfGradientsOfPools) {
  for (const char* op : {"AveragePool <kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1, pads = [1, 0, 0, 0]>",
                         "AveragePool <kernel_shape = [2, 2], strides = [2, 2]>", "LpPool <kernel_shape = [2, 2], p = 3>",
                         "MaxPool <kernel_shape = [2, 3], strides = [2, 2], pads = [1, 1, 1, 0]>", "GlobalAveragePool"}) {
    expect_gradients_of_differences(std::string("g (double[] x) => (double[] d) { y = ") + op +
                                        " (x) z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"z\"> (x) }",
                                    {numbers({1, 2, 5, 5})});
  }
}

}  // namespace
}  // namespace podium
