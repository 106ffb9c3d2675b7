// Gradients of ops whose shapes or numbers only the run knows, against central differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/session.h"
#include "executor/session/training_session.h"
#include "ir/builder.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/gradient.h"
#include "ir/infer.h"
#include "tests/support/gradients.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;
using testing::Tensors;

void expect_with(const std::string& more, const std::string& body, const Tensors& inputs) {
  expect_gradients_of_differences("g (double[] x" + more + ") => (double[] y) { y = " + body + " }", inputs);
}

TEST(LateGradients, OfProductsAlongAxesThatAreFed) {
  for (const char* attributes : {"keepdims = 1", "keepdims = 0", "noop_with_empty_axes = 1"}) {
    const std::string op = std::string("ReduceProd <") + attributes + "> (x, a)";
    for (const std::vector<std::int64_t>& axes : std::vector<std::vector<std::int64_t>>{{1}, {-1, 0}, {}}) {
      expect_with(", int64[] a", op, {numbers({2, 3, 2}), ir::Tensor::ints(axes)});
    }
  }
  for (const std::int64_t axis : {0, 1, -1}) {
    for (const char* attributes : {"reverse = 0", "reverse = 1, exclusive = 1"}) {
      expect_with(", int64 a", std::string("CumProd <") + attributes + "> (x, a)",
                  {numbers({2, 3, 2}), ir::Tensor::scalar(axis)});
    }
  }
}

TEST(LateGradients, OfTransformsWhoseLengthsAreFed) {
  for (const std::int64_t length : {2, 3, 5}) {
    expect_with(", int64 n, int64 a", "DFT <inverse = 1> (x, n, a)",
                {numbers({2, 3, 2, 2}), ir::Tensor::scalar(length), ir::Tensor::scalar<std::int64_t>(1)});
    expect_with(", int64 n", "DFT <onesided = 1> (x, n)", {numbers({2, 4, 1}), ir::Tensor::scalar(length)});
    expect_with(", int64 s, int64 n", "STFT (x, s, , n)",
                {numbers({2, 9, 1}), ir::Tensor::scalar<std::int64_t>(2), ir::Tensor::scalar(length)});
  }
}

TEST(LateGradients, OfColumnsPutTogetherToAnImageWhoseShapeIsFed) {
  expect_with(", int64[2] i, int64[2] b", "Col2Im <strides = [2, 1]> (x, i, b)",
              {numbers({2, 8, 6}), ir::Tensor::ints({5, 4}), ir::Tensor::ints({2, 2})});
}

// Each double input comes through a Reshape to a shape that is fed: nothing of its shape is known.
void expect_with_unknown_shapes(const std::string& body, const std::vector<ir::Dims>& shapes) {
  std::string formal;
  std::string reshapes;
  Tensors inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const char name = static_cast<char>('x' + i);
    formal += fmt::format("{}double[] f{}, int64[{}] s{}", i == 0 ? "" : ", ", name, shapes[i].size(), name);
    reshapes += fmt::format("{0} = Reshape (f{0}, s{0}) ", name);
    inputs.emplace_back(numbers(shapes[i], static_cast<double>(i)));
    inputs.emplace_back(ir::Tensor::ints(shapes[i]));
  }
  expect_gradients_of_differences("g (" + formal + ") => (double[] w) { " + reshapes + body + " }", inputs);
}

TEST(LateGradients, OfOpsWhoseShapesAreNotKnown) {
  expect_with_unknown_shapes("w = Conv <pads = [1, 0, 0, 1], strides = [2, 1]> (x, y, z)",
                             {{2, 2, 4, 3}, {3, 2, 2, 2}, {3}});
  expect_with_unknown_shapes("w = MaxPool <kernel_shape = [2, 2]> (x)", {{1, 2, 4, 3}});
  expect_with_unknown_shapes(
      "a = Concat <axis = 1> (x, y, x) b = Exp (a) i = Constant <value_ints = [2, 0, 2]> ()"
      " w = Gather <axis = 1> (b, i)",
      {{2, 3}, {2, 2}});
  expect_with_unknown_shapes("t = Constant <value_ints = [2, 0, 1]> () w = SoftmaxCrossEntropyLoss (x, t)",
                             {{3, 4}});
  expect_with_unknown_shapes("a, h = GRU <hidden_size = 2> (x, y, z) b = ReduceSum (h) w = Mul (a, b)",
                             {{3, 2, 3}, {1, 6, 3}, {1, 6, 2}});
  expect_with_unknown_shapes("w = Attention <is_causal = 1> (x, y, z)",
                             {{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}});
  expect_with_unknown_shapes("w = Einsum <equation = \"ij,kj->ik\"> (x, y)", {{2, 3}, {4, 3}});
}

TEST(LateGradients, OfARecurrenceWhoseBiasesHaveARankThatIsNotKnown) {
  for (const char* cell : {"RNN", "GRU", "LSTM"}) {
    const std::int64_t rows = std::string(cell) == "RNN" ? 2 : std::string(cell) == "GRU" ? 6 : 8;
    expect_gradients_of_differences(
        std::string("g (double[3,2,3] x, double[1,W,3] w, double[1,W,2] r, double[B] f, int64[N] s) => "
                    "(double[] y) { b = Reshape (f, s) y = ") +
            cell + " <hidden_size = 2> (x, w, r, b) }",
        {numbers({3, 2, 3}), numbers({1, rows, 3}, 1), numbers({1, rows, 2}, 2), numbers({2 * rows}, 3),
         ir::Tensor::ints({1, 2 * rows})});
  }
}

TEST(LateGradients, OfWhatDataChooses) {
  expect_gradients_of_differences(
      "g (double[A,B] x, bool[A] c) => (double[] y) { v = Sin (x) w = Compress <axis = 0> (v, c)"
      " y = Concat <axis = 0> (w, v) }",
      {numbers({4, 2}), tensor<bool>({4}, {true, false, false, true})});
}

// The states of all iterations have other shapes, and the gradient reads them.
TEST(LateGradients, OfALoopWhoseStateGrows) {
  const std::string text =
      "g (int64 m, double[A,B] x, double[C,B] z) => (double[] y) { f, s = Loop (m, , x) <body = b (int64 i, bool c,"
      " double[D,B] u) => (bool d, double[E,B] v, double w) { d = Identity (c) e = Exp (z) h = Sin (u)"
      " v = Concat <axis = 0> (h, e) q = Mul (v, v) w = ReduceSum <keepdims = 0> (q) }> ";
  for (const char* result : {"y = Exp (s) }", "y = Mul (f, f) }"}) {
    for (const std::int64_t trips : {0, 1, 3}) {
      const auto small = [](ir::Dims dims, double phase) {
        return ir::multiplied(numbers(std::move(dims), phase), 0.3, ir::DataType::Double);
      };
      expect_gradients_of_differences(text + result,
                                      {ir::Tensor::scalar(trips), small({2, 2}, 0), small({1, 2}, 1)});
    }
  }
}

// An error names the op that the gradient came through last, wherever the loop's new list is made.
TEST(LateGradients, NameTheLoopThatTheyComeThrough) {
  ir::Graph graph =
      importer::import_text(
          testing::model_text(
              "g (int64 m, double[2,2] x) => (double[A,2] y) { y = Loop (m, , x) <body = b (int64 i, bool c, double[D,2] u)"
              " => (bool d, double[E,2] v) { d = Identity (c) h = Sin (u) v = Concat <axis = 0> (h, x) }> }"))
          .graph;
  ir::infer(graph);
  std::string through;
  const auto note = [&](ir::ValueId value, ir::ValueId /*gradient*/, ir::OpId last) {
    if (value == graph.inputs[1]) through = graph[last].spec->name;
  };
  ir::differentiate(graph, graph.outputs[0], std::vector{graph.inputs[1]}, {.flowed = note});
  EXPECT_EQ(through, "Loop");
}

// A matrix of each iteration's own size is multiplied by a captured one.
TEST(LateGradients, OfAScanWhoseStateGrows) {
  expect_gradients_of_differences(
      "g (double[A,B] h, double[N,B] x, double[B,B] w) => (double[] y) {"
      " f, s = Scan <num_scan_inputs = 1, body = b (double[D,B] u, double[B] k) => (double[E,B] v, double o) {"
      " t = Constant <value_ints = [0]> () r = Unsqueeze (k, t) p = MatMul (u, w) e = Sin (p)"
      " v = Concat <axis = 0> (e, r) o = ReduceSum <keepdims = 0> (p) }> (h, x)"
      " c = ReduceSum <keepdims = 0> (s) q = Mul (f, f) y = Mul (q, c) }",
      {numbers({1, 2}), numbers({3, 2}, 1), numbers({2, 2}, 2)});
}

TEST(LateGradients, OfGradients) {
  expect_gradients_of_differences(
      "g (double[] x, int64[] a) => (double[] d) { y = ReduceProd (x, a) z = Exp (y)"
      " d = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"a\"], y = \"z\"> (x, a) }",
      {numbers({2, 3}), ir::Tensor::ints({1})});
  expect_gradients_of_differences(
      "g (double[] f, int64[2] s, double[] w) => (double[] d) { x = Reshape (f, s) k = Concat <axis = 0> (x, w)"
      " y = MatMul (k, w) z = Exp (y)"
      " d = ai.onnx.preview.training.Gradient <xs = [\"w\"], zs = [\"f\", \"s\"], y = \"z\"> (w, f, s) }",
      {numbers({1, 2}), ir::Tensor::ints({1, 2}), numbers({2, 2}, 1)});
}

// One session runs both inputs and prepares itself again for the other axes.
TEST(LateGradients, FollowWhatEachRunFeeds) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", ir::Type::tensor(ir::DataType::Double, {2, 2}));
  const ir::ValueId axes = builder.input("axes", ir::Type::tensor(ir::DataType::Int64, {1}));
  graph.outputs = ir::differentiate(graph, builder.op("ReduceProd", {x, axes}), std::vector{x});
  InferenceSession session({.graph = graph, .info = {}, .source = nullptr});
  const auto run = [&](std::int64_t axis) {
    const Tensors inputs{tensor<double>({2, 2}, {2, 3, 5, 7}), ir::Tensor::ints({axis})};
    return testing::values<double>(session.run(inputs)[0]);
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(run(0), ElementsAre(5, 7, 2, 3));
  EXPECT_THAT(run(1), ElementsAre(3, 2, 7, 5));
  EXPECT_THAT(run(1), ElementsAre(3, 2, 7, 5));
  EXPECT_THAT(run(0), ElementsAre(5, 7, 2, 3));
}

// Each replica cuts other rows out of its data, one of them none, and accumulates.
TEST(LateGradients, TrainReplicas) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = {.accumulation_factor = 2, .replicas = 2};
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.5, false}}});
  TrainingSession session(
      testing::model_of("g (float[3] x, bool[3] c) => (float loss) <float[3] w = {10, 20, 30}> {"
                        " y = Mul (x, w) a = Compress <axis = 0> (y, c) k = Concat <axis = 0> (a, y)"
                        " loss = ReduceSum <keepdims = 0> (k) }"),
      options);
  const Tensors inputs{
      tensor<float>({12}, {1, 2, 3, 1, 1, 1, 1, 1, 1, 2, 2, 2}),
      tensor<bool>({12}, {true, false, true, false, false, false, true, true, true, false, true, false})};
  session.run(inputs);
  // 2, 2, 6 and 1, 1, 1 and 2, 2, 2 and 2, 4, 2 flow to w.
  EXPECT_THAT(testing::values<float>(session.weights().at("w")),
              ::testing::ElementsAre(10 - 3.5F, 20 - 4.5F, 30 - 5.5F));
}

}  // namespace
}  // namespace podium
