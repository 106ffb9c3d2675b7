// Gradients through If, Loop and Scan against central differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"
#include "ir/gradients/differentiate.h"
#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;

TEST(GradientsOfIf, AreThoseOfTheBranchThatRan) {
  const std::string text =
      "g (bool c, double[A,B] x, double[B] z) => (double[A,B] y) {"
      " y = If (c) <then_branch = t () => (double[A,B] p) { s = Mul (x, z) p = Exp (s) },"
      " else_branch = e () => (double[A,B] q) { q = Mul (x, x) }> }";
  for (const bool taken : {true, false}) {
    expect_gradients_of_differences(text, {tensor<bool>({}, {taken}), numbers({2, 3}), numbers({3}, 1)});
  }
}

TEST(GradientsOfIf, OfSeveralResultsOneOfThemCaptured) {
  const std::string text =
      "g (bool c, double[A] x, double[A] z) => (double[A] y) {"
      " a, b = If (c) <then_branch = t () => (double[A] p, double[A] q) { p = Identity (x) q = Mul (z, x) },"
      " else_branch = e () => (double[A] p, double[A] q) { p = Sin (z) q = Identity (z) }> s = Mul (a, b) y = Add (s, x) }";
  for (const bool taken : {true, false}) {
    expect_gradients_of_differences(text, {tensor<bool>({}, {taken}), numbers({3}), numbers({3}, 1)});
  }
}

TEST(GradientsOfIf, WhoseBranchesGiveOtherShapes) {
  const std::string text =
      "g (bool c, double[A] x) => (double y) {"
      " a = If (c) <then_branch = t () => (double[] p) { a = Constant <value_ints = [0]> () e = Constant <value_ints = [1]> () w = Slice (x, a, e) p = Exp (w) },"
      " else_branch = e () => (double[] p) { p = Mul (x, x) }> s = Mul (a, a) y = ReduceSum <keepdims = 0> (s) }";
  for (const bool taken : {true, false}) {
    expect_gradients_of_differences(text, {tensor<bool>({}, {taken}), numbers({2})});
  }
}

TEST(GradientsOfIf, InsideAnother) {
  const std::string text =
      "g (bool c, bool d, double[A] x) => (double[A] y) {"
      " y = If (c) <then_branch = t () => (double[A] p) { r = Exp (x)"
      " p = If (d) <then_branch = tt () => (double[A] v) { v = Mul (r, x) },"
      " else_branch = te () => (double[A] v) { v = Sin (r) }> },"
      " else_branch = e () => (double[A] q) { q = Sqrt (x) }> }";
  for (const bool c : {true, false}) {
    for (const bool d : {true, false}) {
      expect_gradients_of_differences(text, {tensor<bool>({}, {c}), tensor<bool>({}, {d}), numbers({3})});
    }
  }
}

// x' = sin(x) * z + i, and each x * z stacked.
std::string loop(const std::string& condition, const std::string& result) {
  return "g (int64 m, double[A] x, double[A] z) => (double[] y) { t = Constant <value = bool {1}> ()"
         " f, s = Loop (m, t, x) <body = b (int64 i, bool c, double[A] u) => (bool d, double[A] v, double[A] w) {"
         " n = Cast <to = 11> (i) a = Sin (u) p = Mul (a, z) j = Mul (p, n) v = Add (j, x) w = Mul (u, z) " +
         condition + " }> " + result + " }";
}

TEST(GradientsOfLoop, OfWhatItCarriesAndStacks) {
  const std::string all = "k = ReduceSum <keepdims = 0> (s) q = Mul (f, f) y = Mul (q, k)";
  for (const std::string& result :
       {std::string("y = Exp (f)"), std::string("q = Mul (s, s) y = ReduceSum <keepdims = 0> (q)"), all}) {
    for (const std::int64_t trips : {0, 1, 4}) {
      expect_gradients_of_differences(loop("d = Identity (c)", result),
                                      {ir::Tensor::scalar(trips), numbers({3}), numbers({3}, 1)});
    }
  }
}

TEST(GradientsOfLoop, ThatDataEnds) {
  expect_gradients_of_differences(
      loop("l = Constant <value = double {3.0}> () o = ReduceSum <keepdims = 0> (v) d = Less (o, l)",
           "y = Exp (f)"),
      {ir::Tensor::scalar<std::int64_t>(10), numbers({3}), numbers({3}, 1)});
}

TEST(GradientsOfLoop, WhoseNumberOfTripsIsKnown) {
  expect_gradients_of_differences(
      "g (double[A] x, double[A] z) => (double[A] y) { m = Constant <value_int = 3> ()"
      " a, b = Loop (m, , x, z) <body = b (int64 i, bool c, double[A] u, double[A] v) => (bool d, double[A] p, double[A] q) {"
      " d = Identity (c) p = Mul (v, z) q = Exp (u) }> y = Add (a, b) }",
      {numbers({2}), numbers({2}, 1)});
}

// Nothing tells the gradient how often the loop ran but how often it ran.
TEST(GradientsOfLoop, WhoseGradientReadsNothingOfIt) {
  for (const char* number : {"int64 i", "int64[1] i"}) {
    for (const char* part : {"w = Identity (z)", "n = Cast <to = 11> (i) w = Mul (z, n)"}) {
      for (const std::int64_t trips : {0, 3}) {
        expect_gradients_of_differences(
            std::string(
                "g (int64 m, double[A] x, double[A] z) => (double[A] y) { f = Loop (m, , x) <body = b (") +
                number + ", bool c, double[A] u) => (bool d, double[A] v) { d = Identity (c) " + part +
                " v = Add (w, u) }> y = Mul (f, x) }",
            {ir::Tensor::scalar(trips), numbers({2}), numbers({2}, 1)});
      }
    }
  }
}

TEST(GradientsOfLoop, ThatTakesItemsOfASequence) {
  expect_gradients_of_differences(
      "g (int64 m, double[A] x, double[A] z) => (double[A] y) { q = Mul (x, x) s = SequenceConstruct (x, q, z)"
      " y = Loop (m, , x) <body = b (int64 i, bool c, double[A] u) => (bool d, double[A] v) { d = Identity (c)"
      " t = SequenceAt (s, i) w = Mul (t, z) v = Add (w, u) }> }",
      {ir::Tensor::scalar<std::int64_t>(3), numbers({2}), numbers({2}, 1)});
}

// A list of results, as exporters write it: text cannot say the types of its body.
TEST(GradientsOfLoop, ThatPutsItemsIntoASequence) {
  ir::Graph body;
  ir::Builder inner(body);
  const ir::Type row = ir::Type::tensor(ir::DataType::Double, {2});
  inner.input("i", ir::Type::tensor(ir::DataType::Int64, ir::Dims{}));
  const ir::ValueId goes_on = inner.input("c", ir::Type::tensor(ir::DataType::Bool, ir::Dims{}));
  const ir::ValueId u = inner.input("u", row);
  const ir::ValueId list = inner.input("l", ir::Type::sequence(row));
  const ir::ValueId next = inner.op("Mul", {u, inner.op("Sin", {u})});
  for (ir::ValueId id : {inner.op("Identity", {goes_on}), next, inner.op("SequenceInsert", {list, next})})
    inner.output(id);
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", row);
  const ir::ValueId nothing =
      builder.op("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(ir::DataType::Double)}});
  ir::Op loop{.spec = ir::find_op("", "Loop")};
  loop.inputs = {builder.constant(ir::Tensor::scalar<std::int64_t>(3)), ir::kNoValue, x, nothing};
  loop.attributes = {{"body", std::make_shared<const ir::Graph>(body)}};
  const ir::ValueId s = builder.append(loop, 2)[1];
  const ir::ValueId y = builder.op("ConcatFromSequence", {s}, {{"axis", std::int64_t{0}}});
  graph.outputs = ir::differentiate(graph, builder.op("Mul", {y, y}), std::vector{x});
  const auto found = testing::values<double>(testing::run_graph(graph, {tensor<double>({2}, {1.1, 0.7})})[0]);
  const auto score = [](double at) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      at *= std::sin(at);
      sum += at * at;
    }
    return sum;
  };
  const auto slope = [&](double at) { return (score(at + 1e-6) - score(at - 1e-6)) / 2e-6; };
  EXPECT_THAT(found, ::testing::ElementsAre(::testing::DoubleNear(slope(1.1), 1e-8),
                                            ::testing::DoubleNear(slope(0.7), 1e-8)));
}

TEST(GradientsOfLoop, WithAMatrixThatEachIterationMultipliesBy) {
  expect_gradients_of_differences(
      "g (double[A,B] x, double[B,B] w, double[B,B] o) => (double[] y) { m = Constant <value_int = 3> ()"
      " a, s = Loop (m, , x) <body = b (int64 i, bool c, double[A,B] u) => (bool d, double[A,B] v, double[B,B] k) {"
      " d = Identity (c) n = MatMul (u, w) p = Tanh (n) j = MatMul (p, w) v = Add (j, x) k = MatMul (w, o) }>"
      " r = ReduceSum <keepdims = 0> (s) y = Mul (a, r) }",
      {numbers({2, 3}), numbers({3, 3}, 1), numbers({3, 3}, 2)});
}

TEST(GradientsOfLoop, InsideLoopsAndIfs) {
  expect_gradients_of_differences(
      "g (double[A] x, double[A] z) => (double[A] y) { m = Constant <value_int = 2> ()"
      " y = Loop (m, , x) <body = b (int64 i, bool c, double[A] u) => (bool d, double[A] v) { d = Identity (c)"
      " k = Constant <value_int = 3> () one = Constant <value_int = 1> ()"
      " p = Loop (k, , u) <body = bb (int64 ii, bool cc, double[A] uu) => (bool dd, double[A] vv) { dd = Identity (cc)"
      " odd = Equal (ii, one) vv = If (odd) <then_branch = t () => (double[A] r) { r = Mul (uu, z) },"
      " else_branch = e () => (double[A] r) { h = Sin (uu) r = Add (h, x) }> }>"
      " v = Mul (p, z) }> }",
      {numbers({2}), numbers({2}, 1)});
}

// The sum of the dropped values in a loop is linear in x: x times its gradient is the sum itself, if both
// dropped the same ones. The two are computed in one run.
TEST(GradientsOfLoop, WhoseDropoutIsDoneAgainAsItWas) {
  const auto results = testing::run_text(
      "g (double[N] x) => (double a, double b) { m = Constant <value_int = 4> () r = Constant <value_float = 0.4> ()"
      " t = Constant <value = bool {1}> () k = Constant <value = double {0.0}> ()"
      " a = Loop (m, , k) <body = b (int64 i, bool c, double u) => (bool d, double v) { d = Identity (c)"
      " w = Dropout (x, r, t) s = ReduceSum <keepdims = 0> (w) v = Add (u, s) }>"
      " g = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"a\"> (x) p = Mul (g, x) b = ReduceSum <keepdims = 0> (p) }",
      {numbers({50})});
  EXPECT_NE(results[0].tensor.to_number(), 0);
  EXPECT_NEAR(results[0].tensor.to_number(), results[1].tensor.to_number(), 1e-9);
}

TEST(GradientsOfIf, WhoseDropoutIsDoneAgainAsItWas) {
  for (const bool taken : {true, false}) {
    const auto results = testing::run_text(
        "g (bool c, double[50] x) => (double a, double b) { r = Constant <value_float = 0.4> ()"
        " t = Constant <value = bool {1}> ()"
        " a = If (c) <then_branch = p () => (double u) { w = Dropout (x, r, t) u = ReduceSum <keepdims = 0> (w) },"
        " else_branch = q () => (double u) { w = Dropout (x, r, t) h = Add (w, w) u = ReduceSum <keepdims = 0> (h) }>"
        " g = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"c\"], y = \"a\"> (x, c) k = Mul (g, x)"
        " b = ReduceSum <keepdims = 0> (k) }",
        {tensor<bool>({}, {taken}), numbers({50})});
    EXPECT_NEAR(results[0].tensor.to_number(), results[1].tensor.to_number(), 1e-9);
  }
}

TEST(GradientsOfScan, InBothDirectionsAndAlongEveryAxis) {
  for (const int direction : {0, 1}) {
    for (const int axis : {0, 1}) {
      for (const int out_direction : {0, 1}) {
        for (const int out_axis : {0, 1}) {
          const std::string attributes = fmt::format(
              "num_scan_inputs = 2, scan_input_axes = [{}, 0], scan_input_directions = [{}, 1], scan_output_axes = [{}, 0], "
              "scan_output_directions = [{}, 0]",
              axis, direction, out_axis, out_direction);
          expect_gradients_of_differences(
              "g (double[A] h, double[B,C] x, double[E] e, double[A] z) => (double[] y) {"
              " f, s, r = Scan <" +
                  attributes +
                  ", body = b (double[A] u, double[A] a, double k) =>"
                  " (double[A] v, double[A] w, double[A] o) { p = Sin (u) q = Mul (p, a) n = Mul (q, k) v = Add (n, z)"
                  " w = Mul (u, v) o = Exp (k) }> (h, x, e)"
                  " t = ReduceSum <keepdims = 0> (r) l = Mul (f, t) c = ReduceSum <keepdims = 0> (l) y = Mul (s, c) }",
              {numbers({3}), axis == 0 ? numbers({4, 3}, 1) : numbers({3, 4}, 1), numbers({4}, 2),
               numbers({3}, 3)});
        }
      }
    }
  }
}

TEST(GradientsOfScan, TwiceDifferentiated) {
  expect_gradients_of_differences(
      "g (double[A] h, double[B,A] x) => (double[A] y) {"
      " f, s = Scan <num_scan_inputs = 1, body = b (double[A] u, double[A] a) => (double[A] v, double[A] w) {"
      " v = Mul (u, a) w = Sin (v) }> (h, x) q = ReduceSum <keepdims = 0> (s) l = Mul (q, f)"
      " d, e = ai.onnx.preview.training.Gradient <xs = [\"h\", \"x\"], y = \"l\"> (h, x)"
      " k = ReduceSum <keepdims = 0> (e) y = Mul (d, k) }",
      {numbers({2}), numbers({3, 2}, 1)});
}

}  // namespace
}  // namespace podium
