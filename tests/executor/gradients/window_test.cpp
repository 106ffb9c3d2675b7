// Gradients of convolutions, pools and what resamples images, against central differences in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/gradients/differentiate.h"
#include "tests/support/fusing.h"
#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;

const std::string kConvHead = "g (double[] x, double[] w, double[] b) => (double[] y) { y = ";

// The shapes of x and w, and the attributes.
struct WindowCase {
  ir::Dims x, w;
  std::string attributes;
};

void expect_conv_gradients(const std::string& op, const WindowCase& of, std::int64_t channels) {
  expect_gradients_of_differences(kConvHead + op + " <" + of.attributes + "> (x, w, b) }",
                                  {numbers(of.x), numbers(of.w, 1), numbers({channels}, 2)});
}

TEST(Gradients, OfConvolutions) {
  const std::vector<WindowCase> cases{
      {{2, 3, 7}, {4, 3, 3}, "group = 1"},
      {{2, 3, 8}, {4, 3, 3}, "strides = [2], pads = [1, 0]"},
      {{1, 4, 5, 6}, {6, 2, 3, 2}, "group = 2, strides = [2, 1], dilations = [1, 2], pads = [2, 0, 1, 1]"},
      {{2, 3, 5, 5}, {3, 1, 3, 3}, "group = 3, pads = [1, 1, 1, 1]"},
      {{2, 2, 4, 3}, {3, 2, 1, 1}, "strides = [3, 2]"},
      {{1, 2, 4, 3, 5},
       {2, 2, 2, 3, 2},
       "strides = [1, 2, 3], dilations = [2, 1, 1], pads = [0, 1, 0, 1, 1, 2]"},
      {{1, 1, 3, 2, 3, 2}, {2, 1, 2, 1, 2, 2}, "pads = [1, 0, 0, 0, 0, 0, 0, 1]"},
      {{2, 3}, {4, 3}, "group = 1"},
  };
  for (const WindowCase& one : cases) expect_conv_gradients("Conv", one, one.w[0]);
  for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    for (const char* strides : {"[1, 1]", "[3, 2]"}) {
      const std::string attributes = std::string("auto_pad = \"") + auto_pad + "\", strides = " + strides;
      expect_conv_gradients("Conv", {{1, 2, 5, 6}, {2, 2, 2, 3}, attributes}, 2);
    }
  }
}

TEST(Gradients, OfTransposedConvolutions) {
  const std::vector<WindowCase> cases{
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
  for (const WindowCase& one : cases) {
    const std::int64_t group = one.attributes.find("group = 2") == 0   ? 2
                               : one.attributes.find("group = 3") == 0 ? 3
                                                                       : 1;
    expect_conv_gradients("ConvTranspose", one, one.w[1] * group);
  }
  // The first numbers of a longer bias count.
  expect_conv_gradients("ConvTranspose", {{1, 2, 3}, {2, 1, 2}, "group = 1"}, 3);
}

TEST(Gradients, OfCausalConvolutionsWithState) {
  for (const char* activation : {"none", "silu"}) {
    const std::string op = std::string(" = CausalConvWithState <activation = \"") + activation + "\"> ";
    expect_gradients_of_differences(
        "g (double[] x, double[] w, double[] b, double[] p) => (double[] y) { y" + op + "(x, w, b, p) }",
        {numbers({2, 3, 5}), numbers({3, 1, 4}, 1), numbers({3}, 2), numbers({2, 3, 3}, 3)});
    expect_gradients_of_differences("g (double[] x, double[] w) => (double[] s) { y, s" + op + "(x, w) }",
                                    {numbers({2, 3, 5}), numbers({3, 1, 4}, 1)});
    expect_gradients_of_differences("g (double[] x, double[] w, double[] p) => (double[] z) { y, s" + op +
                                        "(x, w, , p) e = Exp (s) z = Concat <axis = 2> (e, y) }",
                                    {numbers({2, 3, 2}), numbers({3, 1, 4}, 1), numbers({2, 3, 3}, 3)});
    // A window of one has no past.
    expect_gradients_of_differences("g (double[] x, double[] w) => (double[] y) { y, s" + op + "(x, w) }",
                                    {numbers({2, 3, 5}), numbers({3, 1, 1}, 1)});
  }
}

// The gradient with respect to each input of a gradient that depends on all of them.
void expect_second_gradients(const std::string& op, const ir::Dims& x, const ir::Dims& w) {
  for (const char* first : {"x", "w"}) {
    const std::string other = first == std::string("x") ? "w" : "x";
    expect_gradients_of_differences(
        "g (double[] x, double[] w) => (double[] d) { y = " + op +
            " (x, w) z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"" + first + "\"], zs = [\"" +
            other + "\"], y = \"z\"> (" + first + ", " + other + ") }",
        {numbers(x), numbers(w, 1)});
  }
}

TEST(Gradients, OfGradientsOfConvolutions) {
  expect_second_gradients("Conv <strides = [2, 1], pads = [1, 0, 0, 1], group = 2>", {1, 2, 4, 3},
                          {2, 1, 2, 2});
  expect_second_gradients("ConvTranspose <strides = [2, 1], output_padding = [1, 0]>", {1, 1, 2, 2},
                          {1, 2, 2, 2});
  expect_second_gradients("ConvTranspose <strides = [1], output_shape = [5]>", {1, 1, 2}, {1, 1, 2});
}

void expect_pool_gradients(const std::string& op, const ir::Dims& x) {
  expect_gradients_of_differences("g (double[] x) => (double[] y) { y = " + op + " (x) }", {numbers(x)});
}

TEST(Gradients, OfPools) {
  for (const std::string op : {"AveragePool", "AveragePool <count_include_pad = 1, ", "MaxPool", "LpPool",
                               "LpPool <p = 1, ", "LpPool <p = 3, "}) {
    const std::string start = op.back() == ' ' ? op : op + " <";
    expect_pool_gradients(start + "kernel_shape = [3]>", {2, 3, 7});
    expect_pool_gradients(start + "kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 2, 1]>",
                          {2, 2, 6, 7});
    expect_pool_gradients(start + "kernel_shape = [2, 2], dilations = [2, 3], strides = [2, 1]>",
                          {1, 2, 6, 5});
    expect_pool_gradients(
        start + "kernel_shape = [3, 2], strides = [2, 3], ceil_mode = 1, pads = [1, 0, 0, 0]>", {1, 2, 6, 6});
    expect_pool_gradients(start + "kernel_shape = [2, 3, 2], strides = [1, 2, 2], pads = [0, 1, 1, 0, 1, 0]>",
                          {1, 2, 3, 4, 5});
    for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
      expect_pool_gradients(
          start + "kernel_shape = [3, 2], strides = [2, 2], auto_pad = \"" + auto_pad + "\">", {1, 2, 5, 6});
    }
  }
}

TEST(Gradients, OfMaximaWhoseIndicesAreAskedFor) {
  expect_gradients_of_differences(
      "g (double[] x) => (double[] y) { y, i = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x) }",
      {numbers({1, 2, 3, 4})});
}

TEST(Gradients, OfEqualMaximaGoToTheFirst) {
  const testing::Tensors found = testing::gradients(
      "g (double[] x) => (double[] y) { y = MaxPool <kernel_shape = [2], strides = [2]> (x) }",
      {testing::tensor<double>({1, 1, 4}, {3, 3, 1, 1})});
  EXPECT_THAT(testing::values<double>(found[0]),
              ::testing::ElementsAre(testing::weight(0), 0, testing::weight(1), 0));
}

TEST(Gradients, OfGlobalPools) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "GlobalLpPool <p = 1>",
                         "GlobalLpPool <p = 4>"}) {
    expect_pool_gradients(op, {2, 3, 4});
    expect_pool_gradients(op, {2, 1, 2, 2, 3});
  }
}

TEST(Gradients, AreZeroWhereANormIs) {
  const testing::Tensors found =
      testing::gradients("g (double[] x) => (double[] y) { y = LpPool <kernel_shape = [2]> (x) }",
                         {testing::tensor<double>({1, 1, 3}, {0, 0, 0})});
  EXPECT_EQ(testing::values<double>(found[0]), (std::vector<double>{0, 0, 0}));
}

TEST(Gradients, OfMaximaPutBack) {
  const auto indices = testing::tensor<std::int64_t>({1, 1, 2, 2}, {5, 2, 8, 15});
  const std::string start = "g (double[] x, int64[] i) => (double[] y) { s = Constant <value_ints = ";
  expect_gradients_of_differences(
      "g (double[] x, int64[] i) => (double[] y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> "
      "(x, i) }",
      {numbers({1, 1, 2, 2}), indices});
  for (const char* shape : {"[1, 1, 5, 6]", "[1, 1, 3, 4]"}) {
    expect_gradients_of_differences(
        start + shape + "> () y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }",
        {numbers({1, 1, 2, 2}), indices});
  }
}

TEST(Gradients, OfDeformableConvolutions) {
  const std::string op =
      "DeformConv <group = 2, offset_group = 2, strides = [2, 1], dilations = [1, 2], pads = [1, 0, 0, 1]";
  // Offsets from -0.7 to 0.7: beyond the edges too.
  ir::Tensor offsets = numbers({2, 16, 2, 3}, 1);
  for (std::int64_t i = 0; i < offsets.size(); ++i) offsets.data<double>()[i] -= 1.0001;
  expect_gradients_of_differences(
      "g (double[] x, double[] w, double[] o, double[] b, double[] m) => (double[] y) { y = " + op +
          "> (x, w, o, b, m) }",
      {numbers({2, 4, 4, 4}), numbers({2, 2, 2, 2}, 2), offsets, numbers({2}, 3), numbers({2, 8, 2, 3}, 4)});
  expect_gradients_of_differences(
      "g (double[] x, double[] w, double[] o) => (double[] y) { y = DeformConv (x, w, o) }",
      {numbers({1, 2, 4}), numbers({3, 2, 2}, 2), numbers({1, 2, 3}, 1)});
  expect_gradients_of_differences(
      "g (double[] x, double[] w, double[] o) => (double[] y) { y = DeformConv (x, w, o) }",
      {numbers({1, 1, 2, 3, 2}), numbers({2, 1, 2, 1, 2}, 2), numbers({1, 12, 1, 3, 1}, 1)});
}

TEST(Gradients, OfPooledRegions) {
  const auto x = numbers({2, 2, 6, 5});
  const std::string head = "g (double[] x) => (double[] y) { r = Constant <value = double[3,";
  for (const char* attributes :
       {"mode = \"avg\"", "mode = \"max\"", "sampling_ratio = 3",
        "coordinate_transformation_mode = \"output_half_pixel\", spatial_scale = 0.7"}) {
    expect_gradients_of_differences(
        head + "4] {0, 0, 4, 5, 1.2, 0.3, 7, 4, 2, 2, 3, 3}> () b = Constant <value_ints = [0, 1, 0]> ()" +
            " y = RoiAlign <output_height = 2, output_width = 3, " + attributes + "> (x, r, b) }",
        {x});
  }
  expect_gradients_of_differences(head + "5] {0, 0, 0, 4, 5, 1, 1, 0, 7, 4, 0, 2, 2, 3, 3}> ()" +
                                      " y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.8> (x, r) }",
                                  {x});
}

std::vector<std::string> resize_modes() {
  std::vector<std::string> modes{"mode = \"linear\", antialias = 1", "mode = \"cubic\", antialias = 1",
                                 "mode = \"cubic\", exclude_outside = 1, cubic_coeff_a = -0.5"};
  for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    modes.push_back(std::string("nearest_mode = \"") + nearest + "\"");
  }
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      modes.push_back(std::string("mode = \"") + mode + "\", coordinate_transformation_mode = \"" +
                      coordinates + "\"");
    }
  }
  return modes;
}

void expect_resize_gradients(const std::string& body) {
  expect_gradients_of_differences("g (double[] x) => (double[] y) { " + body + " }", {numbers({1, 2, 4, 5})});
}

TEST(Gradients, OfResizedImages) {
  for (const std::string& mode : resize_modes()) {
    expect_resize_gradients("s = Constant <value = float[4] {1, 1, 2, 0.6}> () y = Resize <" + mode +
                            "> (x, , s)");
    expect_resize_gradients("s = Constant <value_ints = [7, 3]> () y = Resize <axes = [3, 2], " + mode +
                            "> (x, , , s)");
  }
  expect_resize_gradients(
      "r = Constant <value = float[8] {0, 0, 0.2, 0.1, 1, 1, 1.3, 0.8}> () s = Constant <value_ints = [1, 2, "
      "5, 4]> ()"
      " y = Resize <mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\","
      " extrapolation_value = 3.0> (x, r, , s)");
}

TEST(Gradients, OfSampledGrids) {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int align_corners : {0, 1}) {
        const std::string op =
            fmt::format("GridSample <mode = \"{}\", padding_mode = \"{}\", align_corners = {}>", mode,
                        padding, align_corners);
        // Points from -1.9 to 1.9, far outside too.
        const auto grid = [](ir::Dims dims) {
          ir::Tensor points = numbers(std::move(dims), 1);
          for (std::int64_t i = 0; i < points.size(); ++i)
            points.data<double>()[i] = 2.7 * (points.data<double>()[i] - 1.0003);
          return points;
        };
        const std::string text = "g (double[] x, double[] p) => (double[] y) { y = " + op + " (x, p) }";
        expect_gradients_of_differences(text, {numbers({2, 2, 4, 5}), grid({2, 3, 4, 2})});
        expect_gradients_of_differences(text, {numbers({1, 2, 3, 2, 4}), grid({1, 2, 2, 3, 3})});
      }
    }
  }
}

TEST(Gradients, OfAffineGrids) {
  for (const char* tail :
       {"[2, 3, 4, 5]> () y = AffineGrid", "[2, 3, 4, 5]> () y = AffineGrid <align_corners = 1>"}) {
    expect_gradients_of_differences(
        std::string("g (double[] t) => (double[] y) { s = Constant <value_ints = ") + tail + " (t, s) }",
        {numbers({2, 2, 3})});
  }
  expect_gradients_of_differences(
      "g (double[] t) => (double[] y) { s = Constant <value_ints = [1, 1, 2, 3, 4]> () y = AffineGrid (t, s) "
      "}",
      {numbers({1, 3, 4})});
}

TEST(Gradients, OfColumnsPutTogether) {
  const auto expect = [](const std::string& image, const std::string& block, const std::string& attributes,
                         ir::Dims columns) {
    expect_gradients_of_differences("g (double[] x) => (double[] y) { i = Constant <value_ints = " + image +
                                        "> () b = Constant <value_ints = " + block + "> () y = Col2Im" +
                                        attributes + " (x, i, b) }",
                                    {numbers(std::move(columns))});
  };
  expect("[4, 5]", "[2, 3]", "", {2, 12, 9});
  expect("[5, 6]", "[2, 2]", " <strides = [2, 1], dilations = [1, 3], pads = [1, 0, 0, 1]>", {1, 8, 12});
  expect("[7]", "[3]", " <strides = [2]>", {2, 6, 3});
}

TEST(Gradients, OfGradientsOfResampledImages) {
  const auto expect = [](const std::string& body, const std::string& other, const testing::Tensors& inputs) {
    expect_gradients_of_differences(
        "g (" + std::string(other.empty() ? "" : "double[] p, ") + "double[] x) => (double[] d) { " + body +
            " z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"x\"], " +
            (other.empty() ? "" : "zs = [\"p\"], ") + "y = \"z\"> (x" + (other.empty() ? "" : ", p") + ") }",
        inputs);
  };
  expect("s = Constant <value_ints = [1, 1, 5, 4]> () y = Resize <mode = \"linear\"> (x, , , s)", "",
         {numbers({1, 1, 3, 6})});
  expect("b = Constant <value_ints = [2, 2]> () i = Constant <value_ints = [3, 4]> () y = Col2Im (x, i, b)",
         "", {numbers({1, 4, 6})});
  expect("y = GridSample <mode = \"cubic\"> (x, p)", "p", {numbers({1, 2, 2, 2}, 1), numbers({1, 2, 3, 4})});
}

// The gradient by `first` of the sum of all exp(y), by each of both.
TEST(Gradients, OfGradientsOfSampledGrids) {
  ir::Tensor points = numbers({1, 2, 2, 2}, 1);
  ir::Tensor deep = numbers({1, 1, 2, 1, 3}, 1);
  for (ir::Tensor* tensor : {&points, &deep}) {
    for (std::int64_t i = 0; i < tensor->size(); ++i)
      tensor->data<double>()[i] = 2.3 * (tensor->data<double>()[i] - 1.0003);
  }
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int align : {0, 1}) {
        for (const bool is_deep : {false, true}) {
          const std::string y =
              fmt::format("y = GridSample <mode = \"{}\", padding_mode = \"{}\", align_corners = {}> (x, p) ",
                          mode, padding, align);
          expect_gradients_of_differences(
              "g (double[] x, double[] p) => (double[] d) { " + y +
                  "z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"p\"], zs = [\"x\"], y = \"z\"> (p, x) }",
              {is_deep ? numbers({1, 1, 2, 3, 2}) : numbers({1, 2, 4, 5}), is_deep ? deep : points});
        }
      }
    }
  }
}

TEST(Gradients, OfGradientsOfPooledRegions) {
  const std::string regions = "r = Constant <value = double[2,";
  for (const std::string& y :
       {regions + "5] {0, 0, 0, 4, 5, 0, 1, 1, 3, 2}> () y = MaxRoiPool <pooled_shape = [2, 2]> (x, r)",
        regions + "4] {0, 0, 4, 5, 1, 1, 3, 2}> () b = Constant <value_ints = [0, 0]> ()"
                  " y = RoiAlign <output_height = 2, output_width = 2, mode = \"max\"> (x, r, b)"}) {
    expect_gradients_of_differences(
        "g (double[] x) => (double[] e) { " + y +
            " z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"z\"> (x) f = Exp (d)"
            " e = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"f\"> (x) }",
        {numbers({1, 2, 5, 4})});
  }
}

TEST(Gradients, OfGradientsOfPools) {
  for (const char* op :
       {"AveragePool <kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1, pads = [1, 0, 0, 0]>",
        "AveragePool <kernel_shape = [2, 2], strides = [2, 2]>", "LpPool <kernel_shape = [2, 2], p = 3>",
        "MaxPool <kernel_shape = [2, 3], strides = [2, 2], pads = [1, 1, 1, 0]>", "GlobalAveragePool"}) {
    expect_gradients_of_differences(
        std::string("g (double[] x) => (double[] d) { y = ") + op +
            " (x) z = Exp (y) d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"z\"> (x) }",
        {numbers({1, 2, 5, 5})});
  }
}

// Where the engine lays images out by itself, gradients read what it moved.
TEST(Gradients, OfAFusedNetwork) {
  testing::Sketch s;
  const ir::ValueId x = s.input({2, 3, 16, 16});
  const ir::IntList two{2, 2};
  const ir::IntList ones{1, 1, 1, 1};
  const ir::ValueId wide =
      s.op("Relu", {s.op("Conv", {x, s.weight({32, 3, 3, 3}), s.weight({32})}, {{"pads", ones}})});
  const ir::ValueId small = s.op("MaxPool", {wide}, {{"kernel_shape", two}, {"strides", two}});
  const ir::ValueId again = s.op("Conv", {small, s.weight({32, 32, 3, 3}, 0.1F)}, {{"pads", ones}});
  const ir::ValueId mean =
      s.op("AveragePool", {s.op("Add", {again, small})}, {{"kernel_shape", two}, {"strides", two}});
  const ir::ValueId y = s.op("Mul", {mean, mean});
  for (const ir::ValueId gradient : ir::differentiate(s.graph, y, std::vector{x, small})) s.output(gradient);
  testing::expect_same_when_fused(s.graph);
}

}  // namespace
}  // namespace podium
