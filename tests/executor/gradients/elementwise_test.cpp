// Every gradient builder against central differences in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/session.h"
#include "ir/infer.h"
#include "ir/gradients/differentiate.h"
#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::gradients;
using testing::numbers;
using testing::tensor;
using testing::Tensors;
using testing::weight;

std::string unary(const std::string& op) {
  return "g (double[A,B] x) => (double[C,D] y) { y = " + op + " (x) }";
}

TEST(Gradients, OfFunctionsOfOneNumber) {
  for (const char* op :
       {"Abs", "Neg", "Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Relu", "Sin", "Cos", "Erf", "Identity",
        "Reciprocal", "Transpose", "Flatten <axis = 0>", "Softmax <axis = 0>", "LogSoftmax"}) {
    expect_gradients_of_differences(unary(op), {numbers({2, 3})});
  }
}

TEST(Gradients, OfFunctionsThatCutNegativeNumbers) {
  const auto x = tensor<double>({4}, {-2, -0.5, 0.5, 3});
  for (const char* op : {"Relu", "Abs"}) {
    expect_gradients_of_differences("g (double[N] x) => (double[N] y) { y = " + std::string(op) + " (x) }",
                                    {x});
  }
}

TEST(Gradients, OfTrigonometricFunctions) {
  for (const char* op : {"Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh"}) {
    expect_gradients_of_differences("g (double[N] x) => (double[N] y) { y = " + std::string(op) + " (x) }",
                                    {tensor<double>({4}, {-0.8, -0.1, 0.3, 0.9})});
  }
  expect_gradients_of_differences("g (double[N] x) => (double[N] y) { y = Acosh (x) }",
                                  {tensor<double>({2}, {1.5, 4})});
}

TEST(Gradients, OfActivations) {
  const auto x = tensor<double>({6}, {-4, -2, -0.4, 0.3, 1.2, 5});
  for (const char* op :
       {"LeakyRelu <alpha = 0.2>", "HardSigmoid", "HardSwish", "ThresholdedRelu", "Elu <alpha = 1.5>", "Selu",
        "Celu <alpha = 2.0>", "Softplus", "Softsign", "Gelu", "Gelu <approximate = \"tanh\">", "Mish",
        "Swish <alpha = 1.3>", "com.microsoft.QuickGelu", "Shrink <lambd = 1.0, bias = 0.5>"}) {
    expect_gradients_of_differences("g (double[N] x) => (double[N] y) { y = " + std::string(op) + " (x) }",
                                    {x});
  }
}

TEST(Gradients, OfGatesWithTwoInputs) {
  const auto x = tensor<double>({2, 3}, {-4, -2, -0.4, 0.3, 1.2, 5});
  expect_gradients_of_differences("g (double[A,B] x, double[C] s) => (double[A,B] y) { y = PRelu (x, s) }",
                                  {x, tensor<double>({3}, {0.2, 0.3, -0.5})});
  expect_gradients_of_differences(
      "g (double[A,B] x, double[A,B] z) => (double[A,B] y) { y = SwiGLU <alpha = 0.7> (x, z) }",
      {x, numbers({2, 3})});
}

TEST(Gradients, OfClipAndItsLimits) {
  const auto x = tensor<double>({5}, {-4, -0.4, 0.3, 1.2, 5});
  expect_gradients_of_differences(
      "g (double[N] x, double l, double h) => (double[N] y) { y = Clip (x, l, h) }",
      {x, tensor<double>({}, {-1}), tensor<double>({}, {1})});
  expect_gradients_of_differences("g (double[N] x, double h) => (double[N] y) { y = Clip (x, , h) }",
                                  {x, tensor<double>({}, {1})});
}

TEST(Gradients, OfTheLargestAndSmallestInput) {
  for (const char* op : {"Max", "Min"}) {
    expect_gradients_of_differences("g (double[A,B] a, double[B] b, double c) => (double[A,B] y) { y = " +
                                        std::string(op) + " (a, b, c) }",
                                    {numbers({3, 4}), numbers({4}, 1), tensor<double>({}, {1.1})});
  }
  // Equal inputs: the first takes all.
  const Tensors found = gradients("g (double[N] a, double[N] b) => (double[N] y) { y = Max (a, b) }",
                                  {tensor<double>({1}, {2}), tensor<double>({1}, {2})});
  EXPECT_NE(testing::values<double>(found[0])[0], 0);
  EXPECT_EQ(testing::values<double>(found[1])[0], 0);
}

TEST(Gradients, OfRemainders) {
  const auto a = tensor<double>({4}, {5.5, -5.5, 7.3, -0.4});
  const auto b = tensor<double>({4}, {2, 2, -3, 1.5});
  for (const char* op : {"Mod <fmod = 1>", "Mod"}) {
    expect_gradients_of_differences(
        "g (double[N] a, double[N] b) => (double[N] y) { y = " + std::string(op) + " (a, b) }", {a, b});
  }
}

TEST(Gradients, OfCastsBetweenFloats) {
  const Tensors found = gradients(
      "g (double[N] x, float[1] like) => (double[N] y) { f = CastLike (x, like) s = Mul (f, f) y = Cast <to = 11> (s) }",
      {tensor<double>({2}, {1.5, -2}), tensor<float>({1}, {0})});
  EXPECT_NEAR(testing::values<double>(found[0])[1], -4 * weight(1), 1e-6);
}

TEST(Gradients, OfStretchedInputs) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Sum", "Mean"}) {
    const std::string text =
        "g (double[A,B,C] a, double[D,E] b) => (double[F,G,H] y) { y = " + std::string(op) + " (a, b) }";
    expect_gradients_of_differences(text, {numbers({2, 1, 3}), numbers({4, 1}, 1)});
    expect_gradients_of_differences(text, {numbers({1, 2, 3}), numbers({2, 3}, 1)});
  }
}

TEST(Gradients, OfOneValueReadTwice) {
  expect_gradients_of_differences("g (double[N] x) => (double[N] y) { s = Mul (x, x) y = Add (s, x) }",
                                  {numbers({3})});
}

TEST(Gradients, OfAChoice) {
  expect_gradients_of_differences(
      "g (bool[N] c, double a, double[N] b) => (double[N] y) { y = Where (c, a, b) }",
      {tensor<bool>({3}, {true, false, true}), numbers({}), numbers({3}, 1)});
}

TEST(Gradients, OfMatrixProducts) {
  const std::string text = "g (double[] a, double[] b) => (double[] y) { y = MatMul (a, b) }";
  const std::vector<std::pair<ir::Dims, ir::Dims>> shapes{
      {{2, 3}, {3, 4}},          {{3}, {3, 2}},       {{2, 3}, {3}},   {{3}, {3}},
      {{2, 1, 2, 3}, {5, 3, 2}}, {{4, 2, 3}, {3, 2}}, {{3}, {2, 3, 2}}};
  for (const auto& [a, b] : shapes) expect_gradients_of_differences(text, {numbers(a), numbers(b, 1)});
}

TEST(Gradients, OfGemmUnderEveryTransposition) {
  for (const int a : {0, 1}) {
    for (const int b : {0, 1}) {
      const std::string text = fmt::format(
          "g (double[A,B] a, double[C,D] b, double[E] c) => (double[F,G] y) {{ y = Gemm <alpha = 0.5, beta = 2.0, transA = {}, "
          "transB = {}> (a, b, c) }}",
          a, b);
      expect_gradients_of_differences(
          text, {a == 1 ? numbers({3, 2}) : numbers({2, 3}), b == 1 ? numbers({4, 3}, 1) : numbers({3, 4}, 1),
                 numbers({4}, 2)});
    }
  }
}

TEST(Gradients, OfReductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    for (const int keepdims : {0, 1}) {
      const std::string start = "<keepdims = " + std::to_string(keepdims) + "> (x";
      const std::string name(op);
      expect_gradients_of_differences("g (double[A,B,C] x) => (double[D] y) { y = " + name + start + ") }",
                                      {numbers({2, 3, 2})});
      expect_gradients_of_differences(
          "g (double[A,B,C] x) => (double[D] y) { axes = Constant <value_ints = [-1, 0]> () y = " + name +
              start + ", axes) }",
          {numbers({2, 3, 2})});
    }
  }
}

TEST(Gradients, OfProductsWithAZero) {
  expect_gradients_of_differences("g (double[N] x) => (double[] y) { y = ReduceProd <keepdims = 0> (x) }",
                                  {tensor<double>({3}, {2, 0, 3})});
}

TEST(Gradients, OfAnExtremeThatIsThereTwice) {
  const Tensors found = gradients("g (double[N] x) => (double[] y) { y = ReduceMax <keepdims = 0> (x) }",
                                  {tensor<double>({3}, {2, 5, 5})});
  EXPECT_THAT(testing::values<double>(found[0]), ::testing::ElementsAre(0, weight(0) / 2, weight(0) / 2));
}

TEST(Gradients, OfCumulativeSums) {
  for (const char* attributes :
       {"exclusive = 0", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"}) {
    expect_gradients_of_differences(
        "g (double[A,B] x) => (double[A,B] y) { a = Constant <value_int = 1> () y = CumSum <" +
            std::string(attributes) + "> (x, a) }",
        {numbers({2, 3})});
  }
}

TEST(Gradients, OfNormalisationsPerChannel) {
  const std::string inputs = "(double[N,C,H,W] x, double[D] s, double[E] b) => (double[N,C,H,W] y)";
  for (const char* op : {"InstanceNormalization", "GroupNormalization <num_groups = 2>"}) {
    expect_gradients_of_differences("g " + inputs + " { y = " + op + " (x, s, b) }",
                                    {numbers({2, 4, 2, 3}), numbers({4}, 1), numbers({4}, 2)});
  }
}

TEST(Gradients, OfBatchNormalization) {
  const std::string start =
      "g (double[N,C,H] x, double[D] s, double[D] b, double[D] m, double[D] v) => (double[N,C,H] y) { y";
  const Tensors inputs{numbers({3, 2, 4}), numbers({2}, 1), numbers({2}, 2), numbers({2}, 3),
                       numbers({2}, 4)};
  expect_gradients_of_differences(start + " = BatchNormalization (x, s, b, m, v) }", inputs);
  expect_gradients_of_differences(
      start + ", rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v) }", inputs);
}

TEST(Gradients, OfNormalisationsOverTheLastAxes) {
  expect_gradients_of_differences(
      "g (double[A,B,C] x, double[B,C] s, double[C] b) => (double[A,B,C] y) {"
      " y = LayerNormalization <axis = 1> (x, s, b) }",
      {numbers({2, 3, 4}), numbers({3, 4}, 1), numbers({4}, 2)});
  expect_gradients_of_differences(
      "g (double[A,B,C] x, double[C] s) => (double[A,B,C] y) { y = RMSNormalization (x, s) }",
      {numbers({2, 3, 4}), numbers({4}, 1)});
}

TEST(Gradients, OfNormalisationsWithoutWeights) {
  for (const char* op :
       {"MeanVarianceNormalization <axes = [0, 2]>", "LpNormalization <axis = 1, p = 1>", "LpNormalization",
        "LRN <size = 3, alpha = 0.3, beta = 0.6, bias = 1.5>", "LRN <size = 2, alpha = 0.3>"}) {
    expect_gradients_of_differences(
        "g (double[A,B,C] x) => (double[A,B,C] y) { y = " + std::string(op) + " (x) }", {numbers({2, 4, 3})});
  }
}

TEST(Gradients, OfLossesOverClasses) {
  const ir::Tensor target = tensor<std::int64_t>({3, 2}, {0, 3, 1, -1, 2, 2});
  const std::string head = "g (double[N,C,D] x, int64[N,D] t) => (double[] y) {";
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
      const std::string attributes = std::string(" <reduction = \"") + reduction + "\", ignore_index = -1> ";
      expect_gradients_of_differences(head + " y = " + op + attributes + "(x, t) }",
                                      {numbers({3, 4, 2}), target});
      expect_gradients_of_differences(head + " w = Constant <value = double[4] {0.5, 1, 2, 0.1}> () y = " +
                                          op + attributes + "(x, t, w) }",
                                      {numbers({3, 4, 2}), target});
    }
  }
  expect_gradients_of_differences(
      "g (double[N,C] x, int64[N] t) => (double[] y) { a, l = SoftmaxCrossEntropyLoss (x, t) y = Mul (l, l) }",
      {numbers({3, 4}), tensor<std::int64_t>({3}, {0, 3, 1})});
}

TEST(Gradients, OfDropout) {
  expect_gradients_of_differences("g (double[N] x) => (double[N] y) { y = Dropout (x) }", {numbers({3})});
  expect_gradients_of_differences(
      "g (double[N] x) => (double[N] y) { r = Constant <value_float = 0.4> ()"
      " t = Constant <value = bool[1] {1}> () u = Squeeze (t) y = Dropout <seed = 7> (x, r, u) }",
      {numbers({20})});
}

TEST(Gradients, OfMovements) {
  const auto expect = [](const std::string& body, ir::Dims dims) {
    expect_gradients_of_differences("g (double[] x) => (double[] y) { " + body + " }",
                                    {numbers(std::move(dims))});
  };
  expect("s = Constant <value_ints = [3, -1]> () y = Reshape (x, s)", {2, 3});
  expect("a = Constant <value_ints = [0]> () y = Squeeze (x, a)", {1, 3});
  expect("a = Constant <value_ints = [0, 2]> () y = Unsqueeze (x, a)", {3});
  expect("s = Constant <value_ints = [2, 2, 3]> () y = Expand (x, s)", {2, 1});
  expect("y = Transpose <perm = [2, 0, 1]> (x)", {2, 3, 4});
  expect(
      "a = Constant <value_ints = [3, 0]> () e = Constant <value_ints = [0, 9]> () b = Constant <value_ints = [0, 1]> ()"
      " s = Constant <value_ints = [-2, 1]> () y = Slice (x, a, e, b, s)",
      {4, 2});
  expect("i = Constant <value_ints = [2, 0, 2]> () y = Gather <axis = 1> (x, i)", {2, 3});
}

TEST(Gradients, OfMoreMovements) {
  const auto expect = [](const std::string& body, ir::Dims dims) {
    expect_gradients_of_differences("g (double[] x) => (double[] y) { " + body + " }",
                                    {numbers(std::move(dims))});
  };
  expect("r = Constant <value_ints = [2, 3]> () y = Tile (x, r)", {2, 2});
  expect("i = Constant <value = int64[2,2] {1, -1, 0, 1}> () y = Gather <axis = 0> (x, i)", {3, 2});
  expect("i = Constant <value_int = 1> () y = Gather <axis = 1> (x, i)", {2, 3, 2});
  expect("a = Constant <value_ints = [1]> () e = Constant <value_ints = [-1]> () y = Slice (x, a, e)",
         {4, 2});
  expect("s = Constant <value_ints = [3, 5]> () y = CenterCropPad (x, s)", {5, 2});
  expect("y = Trilu <upper = 0> (x)", {3, 4});
  expect("y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)", {1, 4, 2, 1});
  expect("y = SpaceToDepth <blocksize = 2> (x)", {1, 1, 4, 2});
  expect("c = Constant <value = bool[3] {1, 0, 1}> () y = Compress <axis = 0> (x, c)", {3, 2});
  expect("l = Constant <value_ints = [2, 3]> () y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, l)",
         {3, 2});
  expect("k = Constant <value_ints = [2]> () y, i = TopK <axis = 0> (x, k)", {4, 2});
}

TEST(Gradients, OfPadsInEveryMode) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    expect_gradients_of_differences(
        "g (double[A,B] x) => (double[C,D] y) { p = Constant <value_ints = [1, 2, 2, -1]> () y = Pad <mode = \"" +
            std::string(mode) + "\"> (x, p) }",
        {numbers({3, 5})});
  }
  expect_gradients_of_differences(
      "g (double[A] x, double c) => (double[B] y) { p = Constant <value_ints = [1, 2]> () y = Pad (x, p, c) }",
      {numbers({3}), tensor<double>({}, {0.5})});
}

TEST(Gradients, OfScatteredUpdates) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const std::string attribute = std::string(" <reduction = \"") + reduction + "\"> (x, i, u) }";
    expect_gradients_of_differences(
        "g (double[A,B] x, double[C,B] u) => (double[A,B] y) { i = Constant <value = int64[2,2] {2, 0, 0, 1}> ()"
        " y = ScatterElements" +
            attribute,
        {numbers({3, 2}), numbers({2, 2}, 1)});
    expect_gradients_of_differences(
        "g (double[A,B] x, double[C,B] u) => (double[A,B] y) { i = Constant <value = int64[2,1] {2, 0}> ()"
        " y = ScatterND" +
            attribute,
        {numbers({3, 2}), numbers({2, 2}, 1)});
  }
}

TEST(Gradients, OfACacheThatIsWrittenTo) {
  expect_gradients_of_differences(
      "g (double[A,B,C] x, double[A,D,C] u) => (double[A,B,C] y) { i = Constant <value_ints = [3, 1]> ()"
      " y = TensorScatter <mode = \"circular\"> (x, u, i) }",
      {numbers({2, 4, 2}), numbers({2, 2, 2}, 1)});
}

TEST(Gradients, OfTheValuesOfOneHot) {
  expect_gradients_of_differences(
      "g (double[2] v) => (double[A,B] y) { i = Constant <value_ints = [2, 0]> () d = Constant <value_int = 3> ()"
      " y = OneHot (i, d, v) }",
      {numbers({2})});
}

TEST(Gradients, OfCumulativeProductsWithAZero) {
  for (const char* attributes :
       {"exclusive = 0", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"}) {
    expect_gradients_of_differences(
        "g (double[A,B] x) => (double[A,B] y) { a = Constant <value_int = 0> () y = CumProd <" +
            std::string(attributes) + "> (x, a) }",
        {tensor<double>({3, 2}, {2, 1.5, 0, 0.5, 3, -2})});
  }
}

TEST(Gradients, OfEinsums) {
  const auto expect = [](const std::string& equation, const std::vector<ir::Dims>& dims) {
    std::string declared;
    std::string names;
    Tensors inputs;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      declared += fmt::format("{}double[] x{}", i == 0 ? "" : ", ", i);
      names += fmt::format("{}x{}", i == 0 ? "" : ", ", i);
      inputs.emplace_back(numbers(dims[i], static_cast<double>(i)));
    }
    expect_gradients_of_differences("g (" + declared + ") => (double[] y) { y = Einsum <equation = \"" +
                                        equation + "\"> (" + names + ") }",
                                    inputs);
  };
  expect("ij,jk->ik", {{2, 3}, {3, 4}});
  expect("ij->j", {{2, 3}});
  expect("ii->i", {{3, 3}});
  expect("iij,j", {{2, 2, 3}, {3}});
  expect("...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}});
  expect("i,j,k->kji", {{2}, {3}, {2}});
  expect("ij,ij->", {{2, 3}, {2, 3}});
}

TEST(Gradients, OfJoinedAndPartedTensors) {
  expect_gradients_of_differences(
      "g (double[A,B] a, double[A,C] b) => (double[A,D] y) { y = Concat <axis = -1> (a, b) }",
      {numbers({2, 1}), numbers({2, 3}, 1)});
  // The second part flows nowhere.
  expect_gradients_of_differences(
      "g (double[N] x) => (double[M] y) { s = Constant <value_ints = [2, 1, 2]> ()"
      " a, b, c = Split (x, s) y = Mul (a, c) }",
      {numbers({5})});
}

TEST(Gradients, OfASplitWithAPartThatNobodyTakes) {
  for (const char* from : {"Split (x, s)", "Split <num_outputs = 3> (x)"}) {
    expect_gradients_of_differences(
        std::string(
            "g (double[A,B] x) => (double[] y) { s = Constant <value_ints = [3, 1, 3]> () a, , c = ") +
            from + " k = ReduceSum (c) y = Mul (a, k) }",
        {numbers({7, 2})});
  }
}

TEST(Gradients, OfNoNumbers) {
  expect_gradients_of_differences("g (double[A,B] x) => (double[] y) { y = ReduceProd (x) }",
                                  {numbers({2, 0})});
  expect_gradients_of_differences(
      "g (double[A,B] x, double[B] z) => (double[] y) { k = Constant <value_ints = [0]> () m = Mul (x, z)"
      " a = ReduceSum <keepdims = 0> (m, k) p = ReduceProd <keepdims = 0> (m, k) b = Add (a, z) y = Mul (p, b) }",
      {numbers({0, 3}), numbers({3}, 1)});
}

TEST(Gradients, AreZeroForWhatIsNotRead) {
  const Tensors found = gradients("g (double[N] x, double[M] z) => (double[N] y) { y = Exp (x) }",
                                  {numbers({2}), numbers({3})});
  EXPECT_EQ(testing::values<double>(found[1]), (std::vector<double>{0, 0, 0}));
}

// An op that no derivative goes through, on doubles: what 's' is made from.
const std::string kUnknown =
    "q = SequenceConstruct (x) m = SequenceMap <body = e (double[] j) => (double[] o) { n = RandomUniformLike (j)"
    " o = Mul (n, j) }> (q) at = Constant <value_int = 0> () s = SequenceAt (m, at) ";

TEST(Gradients, NameTheNodeThatHasNone) {
  try {
    gradients("g (double[A,B] x) => (double[A,C] y) { " + kUnknown + "y = Cast <to = 11> (s) }",
              {numbers({2, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("node 'm' (SequenceMap): no gradient through what"));
  }
}

void expect_named(const std::string& text, const Tensors& inputs, const std::string& where) {
  try {
    gradients(text, inputs);
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(where)) << text;
  }
}

TEST(Gradients, NameTheNodeThatHasNoneInsideBodies) {
  const std::string why = "node 'm' (SequenceMap): no gradient through what";
  const std::string cast = kUnknown + "v = Cast <to = 11> (s) ";
  expect_named(
      "g (double[A,B] x, bool c) => (double[A,C] y) { y = If (c) <then_branch = t () => (double[A,C] v) {" +
          cast + "}, else_branch = e () => (double[A,C] w) { w = Identity (x) }> }",
      {numbers({2, 2}), ir::Tensor::scalar(true)}, "node 'y' (If): " + why);
  expect_named(
      "g (double[A,B] x) => (double[A,B] y) { m = Constant <value_int = 2> () y = Loop (m, , x) <body = b (int64 i, bool c,"
      " double[A,B] x) => (bool d, double[A,B] v) { d = Identity (c) " +
          cast + "}> }",
      {numbers({2, 2})}, "node 'y' (Loop): " + why);
  expect_named(
      "g (double[A,B] x) => (double[A,B] y) { h = Identity (x) f, y = Scan <num_scan_inputs = 1, body = b (double[A,B] u,"
      " double[B] k) => (double[A,B] w, double[A,B] v) { w = Identity (u) x = Mul (u, k) " +
          cast + "}> (h, x) }",
      {numbers({2, 2})}, "node 'f' (Scan): " + why);
}

// In the reverse order of the ops that read x.
TEST(Gradients, OfOneValueAreSummedInAFixedOrder) {
  ir::Graph graph =
      importer::import_text(
          testing::model_text(
              "g (double[2] x, double[2] a) => (double[2] y) { p = Mul (x, a) q = Exp (x) r = Sin (x) s = Sum (p, q, r) y = Mul (s, x) }"))
          .graph;
  ir::infer(graph);
  const std::vector<ir::ValueId> xs{graph.inputs[0]};
  const ir::ValueId sum = ir::differentiate(graph, graph.outputs[0], xs)[0];
  const auto makers = producers(graph);
  const ir::Op& op = graph[makers[sum]];
  ASSERT_TRUE(op.is("Sum"));
  std::vector<std::string_view> read;
  for (ir::ValueId id : op.inputs) read.push_back(graph[graph[makers[id]].inputs[1]].name);
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0], "s");
  EXPECT_EQ(read[2], "q");
  EXPECT_EQ(read[3], "a");
}

// Values that are no floating point numbers get no gradient, nor do values that the loss does not depend on.
TEST(Gradients, LeaveAloneWhatIsNotOnThePath) {
  for (const char* zero :
       {"k = ArgMax <axis = 0> (s)", "i = Cast <to = 7> (s) k = Sub (i, i)", "k = Greater (s, s)"}) {
    const Tensors found = gradients("g (double[A,B] x) => (double[A,B] y) { " + kUnknown + zero +
                                        " f = Cast <to = 11> (k)"
                                        " h = Shape (s) z = Expand (x, h) a = Add (f, z) y = Mul (a, x) }",
                                    {tensor<double>({1, 2}, {3, 3})});
    EXPECT_NEAR(testing::values<double>(found[0])[0], 6 * weight(0), 1e-12) << zero;
  }
}

const std::string kCube = "square = Mul (x, x) y = Mul (square, x) ";

std::string gradient_op(const std::string& outputs, const std::string& attributes,
                        const std::string& inputs) {
  return outputs + " = ai.onnx.preview.training.Gradient <" + attributes + "> (" + inputs + ") ";
}

double only(const Tensors& results) { return results.at(0).tensor.to_number(); }

TEST(GradientOp, IsReplacedByWhatComputesIt) {
  const auto y = testing::run_text(
      "g (float x) => (float d) {" + kCube + gradient_op("d", "xs = [\"x\"], y = \"y\"", "x") + "}",
      {ir::Tensor::scalar<float>(2)});
  EXPECT_EQ(only(y), 12);
}

TEST(GradientOp, MayComeBeforeWhatItDifferentiates) {
  const auto y = testing::run_text(
      "g (float x) => (float d, float y) {" + gradient_op("d", "xs = [\"x\"], y = \"y\"", "x") + kCube + "}",
      {ir::Tensor::scalar<float>(2)});
  EXPECT_EQ(only(y), 12);
}

TEST(GradientOp, TakesTheDerivativeAtTheValuesItIsFedWith) {
  const auto y = testing::run_text("g (float x, float at) => (float d) {" + kCube +
                                       gradient_op("d", "xs = [\"x\"], y = \"y\"", "at") + "}",
                                   {ir::Tensor::scalar<float>(2), ir::Tensor::scalar<float>(5)});
  EXPECT_EQ(only(y), 75);
}

TEST(GradientOp, TakesAnIntermediateValueAsIndependent) {
  const auto y =
      testing::run_text("g (float x) => (float d) {" + kCube +
                            gradient_op("d", "xs = [\"square\"], zs = [\"x\"], y = \"y\"", "square, x") + "}",
                        {ir::Tensor::scalar<float>(2)});
  EXPECT_EQ(only(y), 2);
}

TEST(GradientOp, IsItselfDifferentiable) {
  const auto y = testing::run_text("g (float x) => (float dd) {" + kCube +
                                       gradient_op("d", "xs = [\"x\"], y = \"y\"", "x") +
                                       gradient_op("dd", "xs = [\"x\"], y = \"d\"", "x") + "}",
                                   {ir::Tensor::scalar<float>(2)});
  EXPECT_EQ(only(y), 12);
}

TEST(GradientOp, IsTakenWithRespectToAnInitializer) {
  const auto y =
      testing::run_text("g (float x) => (float d) <float w = {3}> { s = Mul (w, w) y = Mul (s, x)" +
                            gradient_op(" d", "xs = [\"w\"], zs = [\"x\"], y = \"y\"", "w, x") + "}",
                        {ir::Tensor::scalar<float>(2)});
  EXPECT_EQ(only(y), 12);
}

TEST(GradientOp, RefusesANameThatNoValueHas) {
  EXPECT_THROW(testing::run_text("g (float x) => (float d) {" + kCube +
                                     gradient_op("d", "xs = [\"x\"], y = \"z\"", "x") + "}",
                                 {ir::Tensor::scalar<float>(2)}),
               Error);
}

}  // namespace
}  // namespace podium
