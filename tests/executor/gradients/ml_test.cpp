// Gradients of ai.onnx.ml's ops, whose results are floats: against the same in other ops, in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::gradients;
using testing::numbers;
using testing::tensor;
using testing::Tensors;

std::string model(const std::string& body) { return "g (double[A,B] x) => (double[] y) { " + body + " }"; }

// `op` gives floats f, `same` doubles y.
void expect_the_gradients_of(const std::string& op, const std::string& same, const ir::Tensor& x) {
  const Tensors found = gradients(model("f = ai.onnx.ml." + op + " y = Cast <to = 11> (f)"), {x});
  const Tensors expected = gradients(model(same), {x});
  testing::note_compared(model("f = ai.onnx.ml." + op + " y = Cast <to = 11> (f)"), {x});
  EXPECT_THAT(testing::values<double>(found[0]),
              ::testing::Pointwise(::testing::DoubleNear(1e-5), testing::values<double>(expected[0])))
      << op;
}

TEST(GradientsOfFeatures, OfScaledOnes) {
  const std::string c =
      "o = Constant <value = double[3] {1, 2, 3}> () k = Constant <value = double[3] {0.5, -1, 2}> () ";
  expect_the_gradients_of("Scaler <offset = [1.0, 2.0, 3.0], scale = [0.5, -1.0, 2.0]> (x)",
                          c + "d = Sub (x, o) y = Mul (d, k)", numbers({2, 3}));
  expect_the_gradients_of("Scaler <offset = [1.0], scale = [4.0]> (x)",
                          "k = Constant <value = double {4}> () y = Mul (x, k)", numbers({2, 3}));
  expect_the_gradients_of("Scaler (x)", "y = Identity (x)", numbers({2, 3}));
}

TEST(GradientsOfFeatures, OfNormalisedOnes) {
  const auto x = tensor<double>({2, 3}, {1, -3, 2, 0.5, 2, -0.7});
  const std::string last = "a = Constant <value_ints = [-1]> () ";
  expect_the_gradients_of("Normalizer <norm = \"L1\"> (x)", last + "n = ReduceL1 (x, a) y = Div (x, n)", x);
  expect_the_gradients_of("Normalizer <norm = \"L2\"> (x)", last + "n = ReduceL2 (x, a) y = Div (x, n)", x);
  expect_the_gradients_of("Normalizer (x)", last + "n = ReduceMax (x, a) y = Div (x, n)", x);
  expect_the_gradients_of("Normalizer <norm = \"L2\"> (x)", "y = Identity (x)",
                          tensor<double>({1, 2}, {0, 0}));
}

TEST(GradientsOfFeatures, OfReplacedOnes) {
  const auto x = tensor<double>({2, 2}, {1, 7, 7, 2});
  const Tensors found = gradients(
      model("y = ai.onnx.ml.Imputer <imputed_value_floats = [5.0], replaced_value_float = 7.0> (x)"), {x});
  using testing::weight;
  EXPECT_THAT(testing::values<double>(found[0]), ::testing::ElementsAre(weight(0), 0, 0, weight(3)));
  expect_gradients_of_differences(
      model(
          "y = ai.onnx.ml.Imputer <imputed_value_floats = [5.0], imputed_value_int64s = [3], replaced_value_float = 7.0,"
          " replaced_value_int64 = 1> (x)"),
      {tensor<double>({2, 2}, {1, 3, 4, 2})});
}

TEST(GradientsOfFeatures, OfChosenAndJoinedOnes) {
  expect_gradients_of_differences(
      model("i = Constant <value_ints = [2, 0, 2]> () y = ai.onnx.ml.ArrayFeatureExtractor (x, i)"),
      {numbers({2, 3})});
  expect_gradients_of_differences(
      "g (double[A] x) => (double[] y) { i = Constant <value_ints = [2, 0]> ()"
      " y = ai.onnx.ml.ArrayFeatureExtractor (x, i) }",
      {numbers({3})});
  const std::string square = "q = Mul (x, x) ";
  expect_the_gradients_of("FeatureVectorizer (x, x)", "y = Concat <axis = 1> (x, x)", numbers({2, 3}));
  expect_the_gradients_of(
      "FeatureVectorizer <inputdimensions = [2, 5]> (x, x)",
      "s = Constant <value_ints = [0]> () e = Constant <value_ints = [2]> () a = Constant <value_ints = [1]> ()"
      " b = Slice (x, s, e, a) p = Constant <value_ints = [0, 0, 0, 2]> () d = Pad (x, p) y = Concat <axis = 1> (b, d)",
      numbers({2, 3}));
}

const std::string kMatrix =
    "w = Constant <value = double[3,2] {1, 0.5, 2, -1, -0.5, 0.25}> () b = Constant <value = double[2] {0.5, -1}> ()"
    " p = MatMul (x, w) s = Add (p, b) ";
const std::string kModel = "coefficients = [1.0, 2.0, -0.5, 0.5, -1.0, 0.25], intercepts = [0.5, -1.0]";

TEST(GradientsOfLinearModels, OfTheirScores) {
  expect_the_gradients_of("LinearRegressor <targets = 2, " + kModel + "> (x)", kMatrix + "y = Identity (s)",
                          numbers({4, 3}));
  expect_the_gradients_of("LinearRegressor <targets = 2, post_transform = \"LOGISTIC\", " + kModel + "> (x)",
                          kMatrix + "y = Sigmoid (s)", numbers({4, 3}));
  EXPECT_THROW(gradients(model("f = ai.onnx.ml.LinearRegressor <targets = 2, post_transform = \"PROBIT\", " +
                               kModel + "> (x) y = Cast <to = 11> (f)"),
                         {numbers({4, 3})}),
               Error);
}

TEST(GradientsOfLinearModels, OfTheScoresOfClasses) {
  const auto classifier = [](const std::string& attributes) {
    const std::string text =
        model("l, f = ai.onnx.ml.LinearClassifier <" + attributes + "> (x) y = Cast <to = 11> (f)");
    testing::note_compared(text, {numbers({4, 3})});
    return testing::values<double>(gradients(text, {numbers({4, 3})})[0]);
  };
  const auto expected = [](const std::string& body) {
    return testing::values<double>(gradients(model(body), {numbers({4, 3})})[0]);
  };
  const auto near = [](const std::vector<double>& values) {
    return ::testing::Pointwise(::testing::DoubleNear(1e-5), values);
  };
  EXPECT_THAT(
      classifier("classlabels_ints = [3, 4], multi_class = 1, post_transform = \"SOFTMAX\", " + kModel),
      near(expected(kMatrix + "y = Softmax (s)")));
  EXPECT_THAT(
      classifier("classlabels_strings = [\"a\", \"b\"], coefficients = [1.0, 2.0, -0.5]"),
      near(expected(
          "w = Constant <value = double[3,1] {1, 2, -0.5}> () p = MatMul (x, w) m = Neg (p) y = Concat <axis = 1> (m, p)")));
}

}  // namespace
}  // namespace podium
