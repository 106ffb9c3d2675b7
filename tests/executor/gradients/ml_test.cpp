// Gradients of ai.onnx.ml's ops, whose results are floats: against the same in other ops, in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

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
  expect_the_gradients_of(
      "LinearRegressor <targets = 2, post_transform = \"SOFTMAX_ZERO\", " + kModel + "> (x)",
      kMatrix + "y = Softmax (s)", numbers({4, 3}));
}

// Scores that are 0 stay out: of the others a softmax.
TEST(GradientsOfLinearModels, OfScoresThatAreZero) {
  const Tensors found =
      gradients(model("f = ai.onnx.ml.LinearRegressor <targets = 3, post_transform = \"SOFTMAX_ZERO\","
                      " coefficients = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]> (x) y = Cast <to = 11> (f)"),
                {numbers({2, 2})});
  const Tensors expected = gradients(
      model("s = Softmax (x) p = Constant <value_ints = [0, 1, 0, 0]> () y = Pad (s, p)"), {numbers({2, 2})});
  EXPECT_THAT(testing::values<double>(found[0]),
              ::testing::Pointwise(::testing::DoubleNear(1e-5), testing::values<double>(expected[0])));
}

// Winitzki's approximation has the slope of the probit but for half a percent.
TEST(GradientsOfLinearModels, OfProbits) {
  const Tensors found = gradients(
      model(
          "f = ai.onnx.ml.LinearRegressor <post_transform = \"PROBIT\", coefficients = [1.0]> (x) y = Cast <to = 11> (f)"),
      {tensor<double>({4, 1}, {0.2, 0.4999, 0.5, 0.9})});
  const std::vector<double> probits{-0.8416212, -0.0002507, 0, 1.2815516};
  for (std::size_t i = 0; i < probits.size(); ++i) {
    const double slope = std::sqrt(2 * M_PI) * std::exp(probits[i] * probits[i] / 2);
    const double given = testing::weight(static_cast<std::int64_t>(i));
    EXPECT_NEAR(testing::values<double>(found[0])[i] / given, slope, 5e-3 * slope) << i;
  }
}

// The score is the weighted sum of the likenesses with both support vectors.
TEST(GradientsOfSupportVectors, OfTheirScores) {
  const std::string both =
      "v = Constant <value = double[2,3] {1, 0.5, -1, 0.25, 2, 1}> () w = Constant <value = double[2,1] {2, -1}> ()"
      " o = Constant <value = double {0.5}> () q = Constant <value = double {0.3}> () e = Constant <value = double {3}> ()"
      " t = Transpose (v) p = MatMul (x, t) ";
  const std::string scored = "m = MatMul (k, w) s = Add (m, o) ";
  const std::string shifted = "h = Mul (p, q) j = Add (h, o) ";
  const std::string apart =
      "a = Constant <value_ints = [1]> () u = Unsqueeze (x, a) d = Sub (u, v) f = Mul (d, d) l = Constant <value_ints = [2]> ()"
      " r = ReduceSum <keepdims = 0> (f, l) h = Mul (r, q) n = Neg (h) ";
  const std::string vectors =
      "support_vectors = [1.0, 0.5, -1.0, 0.25, 2.0, 1.0], kernel_params = [0.3, 0.5, 3.0], ";
  for (const auto& [kernel, same] :
       std::vector<std::pair<std::string, std::string>>{{"LINEAR", "k = Identity (p) "},
                                                        {"POLY", shifted + "k = Pow (j, e) "},
                                                        {"SIGMOID", shifted + "k = Tanh (j) "},
                                                        {"RBF", apart + "k = Exp (n) "}}) {
    const std::string given = vectors + "kernel_type = \"" + kernel + "\", rho = [0.5], ";
    expect_the_gradients_of("SVMRegressor <n_supports = 2, coefficients = [2.0, -1.0], " + given +
                                "post_transform = \"LOGISTIC\"> (x)",
                            both + same + scored + "y = Sigmoid (s)", numbers({4, 3}));
    const std::string classifier = model(
        "l, f = ai.onnx.ml.SVMClassifier <classlabels_ints = [0, 1], vectors_per_class = [1, 1],"
        " coefficients = [2.0, -1.0], post_transform = \"SOFTMAX\", " +
        given.substr(0, given.size() - 2) + "> (x) y = Cast <to = 11> (f)");
    testing::note_compared(classifier, {numbers({4, 3})});
    EXPECT_THAT(
        testing::values<double>(gradients(classifier, {numbers({4, 3})})[0]),
        ::testing::Pointwise(
            ::testing::DoubleNear(1e-5),
            testing::values<double>(gradients(
                model(both + same + scored + "n1 = Neg (s) c = Concat <axis = 1> (n1, s) y = Softmax (c)"),
                {numbers({4, 3})})[0])))
        << kernel;
  }
  expect_the_gradients_of("SVMRegressor <coefficients = [1.0, 2.0, -0.5], rho = [2.0]> (x)",
                          "w = Constant <value = double[3,1] {1, 2, -0.5}> () y = MatMul (x, w)",
                          numbers({4, 3}));
  expect_the_gradients_of("SVMRegressor <coefficients = [1.0, 2.0, -0.5], one_class = 1> (x)",
                          "w = Constant <value = double[3,1] {0, 0, 0}> () y = MatMul (x, w)",
                          numbers({4, 3}));
}

// With two classes the probability is that of their pair.
TEST(GradientsOfSupportVectors, OfProbabilities) {
  const std::string two = model(
      "l, f = ai.onnx.ml.SVMClassifier <classlabels_ints = [0, 1], vectors_per_class = [1, 1],"
      " support_vectors = [1.0, 2.0], coefficients = [2.0, -0.5], rho = [0.25], prob_a = [-0.5],"
      " prob_b = [0.125]> (x) y = Cast <to = 11> (f)");
  testing::note_compared(two, {numbers({3, 1})});
  // The score is x + 0.25.
  const Tensors expected = gradients(
      model("o = Constant <value = double {0.25}> () s = Add (x, o) a = Constant <value = double {0.5}> ()"
            " b = Constant <value = double {-0.125}> () m = Mul (s, a) t = Add (m, b) p = Sigmoid (t)"
            " i = Constant <value = double {1}> () r = Sub (i, p) y = Concat <axis = 1> (p, r)"),
      {numbers({3, 1})});
  EXPECT_THAT(testing::values<double>(gradients(two, {numbers({3, 1})})[0]),
              ::testing::Pointwise(::testing::DoubleNear(1e-5), testing::values<double>(expected[0])));
}

// Probabilities of three classes from those of 0 against 1, 0 against 2 and 1 against 2: the iteration that
// the op ends early.
std::array<double, 3> coupled(const std::array<double, 3>& pairs) {
  const double r[3][3] = {
      {0, pairs[0], pairs[1]}, {1 - pairs[0], 0, pairs[2]}, {1 - pairs[1], 1 - pairs[2], 0}};
  std::array<double, 3> p{1, 1, 1};
  const auto q = [&](int i, int j) {
    double squares = 0;
    for (int k = 0; k < 3; ++k) squares += r[k][i] * r[k][i];
    return i == j ? squares : -r[j][i] * r[i][j];
  };
  for (int round = 0; round < 1000; ++round) {
    for (int t = 0; t < 3; ++t) {
      double whole = 0;
      double others = 0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) whole += p[i] * q(i, j) * p[j];
        if (i != t) others += q(t, i) * p[i];
      }
      p[t] = (whole - others) / q(t, t);
      const double sum = p[0] + p[1] + p[2];
      for (double& x : p) x /= sum;
    }
  }
  return p;
}

TEST(GradientsOfSupportVectors, OfProbabilitiesOfThreeClasses) {
  const std::string three = model(
      "l, f = ai.onnx.ml.SVMClassifier <classlabels_ints = [0, 1, 2], vectors_per_class = [1, 1, 1],"
      " support_vectors = [1.0, -2.0, 0.5], coefficients = [1.0, 2.0, 3.0, -1.0, 0.5, -2.0],"
      " rho = [0.1, 0.2, 0.3], prob_a = [-0.5, -1.0, -0.75], prob_b = [0.1, 0.2, -0.3]> (x)"
      " y = Cast <to = 11> (f)");
  const auto score = [&](double x) {
    // A pair of classes i and j uses the coefficients of row j - 1 and of row i.
    const std::array<double, 3> scores{1 * x + 2 * -2 * x + 0.1, -1 * x + 3 * 0.5 * x + 0.2,
                                       0.5 * -2 * x + -2 * 0.5 * x + 0.3};
    const std::array<double, 3> a{-0.5, -1, -0.75};
    const std::array<double, 3> b{0.1, 0.2, -0.3};
    std::array<double, 3> pairs{};
    for (std::size_t i = 0; i < 3; ++i) pairs[i] = 1 / (1 + std::exp(scores[i] * a[i] + b[i]));
    const std::array<double, 3> p = coupled(pairs);
    return p[0] * testing::weight(0) + p[1] * testing::weight(1) + p[2] * testing::weight(2);
  };
  for (const double x : {-1.0, 0.3, 2.0}) {
    const Tensors found = gradients(three, {tensor<double>({1, 1}, {x})});
    EXPECT_NEAR(testing::values<double>(found[0])[0], (score(x + 1e-5) - score(x - 1e-5)) / 2e-5, 1e-5) << x;
  }
}

// Three classes are compared pair by pair.
TEST(GradientsOfSupportVectors, OfPairsOfClasses) {
  const std::string text = model(
      "l, f = ai.onnx.ml.SVMClassifier <classlabels_strings = [\"a\", \"b\", \"c\"], vectors_per_class = [1, 2, 1],"
      " support_vectors = [1.0, 2.0, 0.5, -1.0], coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],"
      " rho = [0.1, 0.2, 0.3]> (x) y = Cast <to = 11> (f)");
  testing::note_compared(text, {numbers({3, 1})});
  // a-b: 1*1 + (2*2 + 3*.5); a-c: 5*1 + 4*-1; b-c: (6*2 + 7*.5) + 8*-1.
  const Tensors expected = gradients(
      model("w = Constant <value = double[1,3] {6.5, 1, 7.5}> () y = MatMul (x, w)"), {numbers({3, 1})});
  EXPECT_THAT(testing::values<double>(gradients(text, {numbers({3, 1})})[0]),
              ::testing::Pointwise(::testing::DoubleNear(1e-5), testing::values<double>(expected[0])));
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
