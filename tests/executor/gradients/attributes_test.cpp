// Attributes and inputs that ONNX's cases leave at their defaults, each with a value of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/gradients/gradient.h"
#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;

TEST(Gradients, OfRunningStatistics) {
  const std::string op = " = BatchNormalization <training_mode = 1, momentum = 0.7> (x, s, b, m, v) ";
  // Alone, and where something flows through what is normalised, too.
  for (const char* end :
       {"y = Mul (q, q) }", "e = Exp (n) k = ReduceSum <keepdims = 0> (e) y = Mul (q, k) }"}) {
    expect_gradients_of_differences(
        "g (double[N,C,H] x, double[D] s, double[D] b, double[D] m, double[D] v) => (double[] y) { n, rm, rv" +
            op + "q = Mul (rm, rv) " + end,
        {numbers({3, 2, 4}), numbers({2}, 1), numbers({2}, 2), numbers({2}, 3), numbers({2}, 4)});
  }
}

// Scales and statistics that are floats where the rest is doubles, and the other way round.
TEST(Gradients, OfNormalisationsOfMixedTypes) {
  const auto floats = [](double phase) {
    return ir::multiplied(numbers({2}, phase), 1, ir::DataType::Float);
  };
  const std::string n = "g (double[N,C,H] x, float[C] s, float[C] b, ";
  const std::string of = " = BatchNormalization <training_mode = 1> (x, s, b, m, v) ";
  const ir::Tensor x = numbers({3, 2, 4});
  expect_gradients_of_differences(n + "float[C] m, float[C] v) => (double[] y) { y, rm, rv" + of + "}",
                                  {x, floats(1), floats(2), floats(3), floats(4)});
  expect_gradients_of_differences(
      n + "double[C] m, double[C] v) => (double[] y) { n, rm, rv" + of + "y = Mul (rm, rv) }",
      {x, floats(1), floats(2), numbers({2}, 3), numbers({2}, 4)});
  expect_gradients_of_differences(
      n + "double[C] m, double[C] v) => (double[] y) { y = BatchNormalization (x, s, b, m, v) }",
      {x, floats(1), floats(2), numbers({2}, 3), numbers({2}, 4)});
  const testing::Tensors found =
      testing::gradients("g (float[A,B] x, double[B] s) => (double[A,B] y) { y = RMSNormalization (x, s) }",
                         {tensor<float>({1, 2}, {3, 4}), numbers({2})});
  EXPECT_NEAR(found[0].tensor.data<double>()[0], testing::weight(0) * 3 / std::sqrt(12.5), 1e-6);
}

TEST(Gradients, OfNormalisationsWhoseEpsilonCounts) {
  expect_gradients_of_differences(
      "g (double[A,B] x, double[B] s) => (double[A,B] y) { y = LayerNormalization <epsilon = 0.5> (x, s) }",
      {numbers({2, 4}), numbers({4}, 1)});
}

TEST(Gradients, OfReductionsOverNoAxes) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    expect_gradients_of_differences(
        "g (double[A,B] x) => (double[] y) { a = Constant <value = int64[0] {}> () y = " + std::string(op) +
            " <noop_with_empty_axes = 1> (x, a) }",
        {numbers({2, 3})});
  }
}

TEST(Gradients, OfReductionsOverAxesThatAreFed) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    for (const int keepdims : {0, 1}) {
      const std::string attributes = " <keepdims = " + std::to_string(keepdims) + "> ";
      const std::string flat =
          "m = Constant <value_ints = [-1]> () w = Reshape (r, m) q = Mul (w, w) k = ReduceSum <keepdims = 0> (q)";
      expect_gradients_of_differences(
          "g (double[A,B,C] x, int64[D] a) => (double[] y) { r = " + std::string(op) + attributes +
              "(x, a) " + flat + " y = Exp (k) }",
          {testing::tensor<double>({2, 3, 2}, {.1, .2, .15, .3, .05, .25, .12, .22, .17, .08, .27, .02}),
           tensor<std::int64_t>({2}, {-1, 0})});
    }
  }
}

TEST(Gradients, OfElementsGatheredPerBatch) {
  expect_gradients_of_differences(
      "g (double[A,B,C] x) => (double[] y) { i = Constant <value = int64[2,2,1] {2, 0, 1, 1}> ()"
      " y = GatherND <batch_dims = 1> (x, i) }",
      {numbers({2, 3, 2})});
}

TEST(Gradients, OfUnpooledMaximaOfPaddedWindows) {
  expect_gradients_of_differences(
      "g (double[A,B,C,D] x) => (double[] y) { p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (x)"
      " y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (p, i) }",
      {numbers({1, 1, 4, 4})});
}

TEST(Gradients, OfACacheAlongAnotherAxis) {
  expect_gradients_of_differences(
      "g (double[A,B,C] x, double[A,B,D] u) => (double[] y) { i = Constant <value_ints = [1, 2]> ()"
      " y = TensorScatter <axis = -1> (x, u, i) }",
      {numbers({2, 3, 4}), numbers({2, 3, 2}, 1)});
}

TEST(Gradients, OfTheLargestInNoOrder) {
  expect_gradients_of_differences(
      "g (double[A,B] x) => (double[] y) { k = Constant <value_ints = [3]> () y, i = TopK <sorted = 0, axis = 0> (x, k) }",
      {numbers({5, 2})});
}

TEST(Gradients, OfSmallFunctionsWithParameters) {
  expect_gradients_of_differences(
      "g (double[N] x) => (double[N] y) { y = com.microsoft.QuickGelu <alpha = 0.6> (x) }", {numbers({4})});
  expect_gradients_of_differences(
      "g (double[A,B,C,D] x) => (double[] y) { y = SpaceToDepth <blocksize = 2, mode = \"CRD\"> (x) }",
      {numbers({1, 2, 4, 2})});
}

TEST(Gradients, OfElementsThatAreThereOnce) {
  const auto x = tensor<double>({2, 3}, {3, 1, 2, 2, 1, 3});
  // Equal elements: the first takes all, where differences see no smooth function.
  const auto found = testing::gradients("g (double[A,B] x) => (double[] y) { y = Unique (x) }", {x});
  using testing::weight;
  EXPECT_THAT(testing::values<double>(found[0]),
              ::testing::ElementsAre(weight(2), weight(0), weight(1), 0, 0, 0));
  for (const char* attributes : {"sorted = 1", "sorted = 0", "axis = 0", "axis = 1, sorted = 0"}) {
    expect_gradients_of_differences(
        "g (double[A,B] x) => (double[] y) { u, i, j, c = Unique <" + std::string(attributes) +
            "> (x) t = Mul (u, u) m = Constant <value_ints = [-1]> () f = Reshape (t, m)"
            " s = ReduceSum <keepdims = 0> (f) y = Exp (s) }",
        {tensor<double>({2, 3}, {.3, .1, .2, .15, .05, .25})});
  }
}

TEST(Gradients, OfARange) {
  expect_gradients_of_differences(
      "g (double s, double l, double d) => (double[] y) { r = Range (s, l, d) t = Sin (r) y = ReduceSum <keepdims = 0> (t) }",
      {tensor<double>({}, {0.5}), tensor<double>({}, {3.7}), tensor<double>({}, {0.6})});
}

TEST(Gradients, OfLossesByTheWeightsOfClasses) {
  const ir::Tensor target = tensor<std::int64_t>({3, 2}, {0, 3, 1, -1, 2, 2});
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
      expect_gradients_of_differences(
          "g (double[N,C,D] x, int64[N,D] t, double[C] w) => (double[] y) { y = " + std::string(op) +
              " <reduction = \"" + reduction + "\", ignore_index = -1> (x, t, w) }",
          {numbers({3, 4, 2}), target, numbers({4}, 1)});
    }
  }
}

TEST(Gradients, OfLimitsThatCross) {
  expect_gradients_of_differences(
      "g (double[N] x, double l, double h) => (double[N] y) { y = Clip (x, l, h) }",
      {tensor<double>({3}, {-4, 0.3, 5}), tensor<double>({}, {2}), tensor<double>({}, {1})});
}

TEST(Gradients, OfScatteredFactorsThatAreZero) {
  for (const std::vector<double>& updates : {std::vector<double>{0, 3}, {0, 0}, {2, 3}}) {
    expect_gradients_of_differences(
        "g (double[A] x, double[B] u) => (double[A] y) { i = Constant <value_ints = [1, 1]> ()"
        " y = ScatterElements <reduction = \"mul\"> (x, i, u) }",
        {tensor<double>({3}, {0, 2, 3}), tensor<double>({2}, updates)});
  }
}

TEST(Gradients, OfScatteredExtremesAreSharedByEqualOnes) {
  const auto found = testing::gradients(
      "g (double[A] x, double[B] u) => (double[A] y) { i = Constant <value_ints = [1, 1, 0]> ()"
      " y = ScatterElements <reduction = \"max\"> (x, i, u) }",
      {tensor<double>({2}, {1, 5}), tensor<double>({3}, {5, 4, 2})});
  using testing::weight;
  EXPECT_THAT(testing::values<double>(found[0]), ::testing::ElementsAre(0, weight(1) / 2));
  EXPECT_THAT(testing::values<double>(found[1]), ::testing::ElementsAre(weight(1) / 2, 0, weight(0)));
}

TEST(Gradients, OfUpdatesOfWeights) {
  const std::string inputs =
      "(double r, int64 t, double[A] x, double[B] z, double[A] g, double[B] h, double[A] v, double[B] w";
  const auto data = [](std::int64_t count) {
    return testing::Tensors{
        tensor<double>({}, {0.3}), ir::Tensor::scalar(count), numbers({2}),    numbers({3}, 1),
        numbers({2}, 2),           numbers({3}, 3),           numbers({2}, 4), numbers({3}, 5)};
  };
  const std::string sums =
      " p = ReduceSum <keepdims = 0> (y1) q = ReduceSum <keepdims = 0> (s0) k = Mul (p, q) y = Mul (y0, k) }";
  for (const std::int64_t count : {0, 3}) {
    for (const char* rule :
         {"Adagrad <decay_factor = 0.1, norm_coefficient = 0.2>",
          "Momentum <alpha = 0.9, beta = 0.8, mode = \"standard\", norm_coefficient = 0.1>",
          "Momentum <alpha = 0.9, beta = 0.8, mode = \"nesterov\", norm_coefficient = 0.1>"}) {
      expect_gradients_of_differences("g " + inputs +
                                          ") => (double[A] y) { y0, y1, s0, s1 = ai.onnx.preview.training." +
                                          rule + " (r, t, x, z, g, h, v, w)" + sums,
                                      data(count));
    }
    testing::Tensors more = data(count);
    more.emplace_back(numbers({2}, 6));
    more.emplace_back(numbers({3}, 7));
    expect_gradients_of_differences(
        "g " + inputs +
            ", double[A] e, double[B] f) => (double[A] y) { y0, y1, s0, s1, e0, e1 = "
            "ai.onnx.preview.training.Adam <norm_coefficient = 0.1, norm_coefficient_post = 0.05> "
            "(r, t, x, z, g, h, v, w, e, f)" +
            sums,
        more);
  }
}

}  // namespace
}  // namespace podium
