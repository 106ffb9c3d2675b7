// Gradients of RNN, GRU and LSTM against central differences.
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;
using testing::Tensors;

struct RecurrentCase {
  std::string op;
  int gates = 1;
  std::string attributes = {};
  int directions = 1;
  bool batch_first = false;
  bool biases = true;
  bool lengths = false;
  bool states = true;
  bool peepholes = false;
  bool reads_y = true;
};

// Inputs from about -0.4 to 0.4, where no activation is flat.
ir::Tensor small(ir::Dims dims, double phase) {
  ir::Tensor result = numbers(std::move(dims), phase);
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.data<double>()[i] = (result.data<double>()[i] - 1) * 0.6;
  return result;
}

struct RecurrentModel {
  std::string text;
  Tensors inputs;
};

// Three steps of two sequences of two numbers; three hidden ones. The result is one of all outputs, or where
// states are all that is asked for, of those.
RecurrentModel recurrent_model(const RecurrentCase& of) {
  const bool is_lstm = of.op == "LSTM";
  const std::int64_t rows = of.gates * 3;
  const std::int64_t ways = of.directions;
  std::string declared = "double[] x, double[] w, double[] r";
  std::string names = "x, w, r";
  Tensors inputs{small(of.batch_first ? ir::Dims{2, 3, 2} : ir::Dims{3, 2, 2}, 0), small({ways, rows, 2}, 1),
                 small({ways, rows, 3}, 2)};
  const auto add = [&](bool is_there, const std::string& name, const std::string& type,
                       const ir::Tensor& value) {
    names += is_there ? ", " + name : ", ";
    if (!is_there) return;
    declared += ", " + type + "[] " + name;
    inputs.emplace_back(value);
  };
  const ir::Dims state = of.batch_first ? ir::Dims{2, ways, 3} : ir::Dims{ways, 2, 3};
  add(of.biases, "b", "double", small({ways, 2 * rows}, 3));
  add(of.lengths, "l", "int32", tensor<std::int32_t>({2}, {1, 3}));
  add(of.states, "h", "double", small(state, 4));
  if (is_lstm) {
    add(of.states, "c", "double", small(state, 5));
    add(of.peepholes, "p", "double", small({ways, 9}, 6));
  }
  const std::string cell = is_lstm ? ", yc" : "";
  return {
      "g (" + declared + ") => (double[] out) { y, yh" + cell + " = " + of.op +
          " <hidden_size = 3, layout = " + (of.batch_first ? "1" : "0") + of.attributes + "> (" + names +
          ") e = Exp (yh) s = ReduceSum <keepdims = 0> (e)" +
          (is_lstm ? " k = Exp (yc) u = ReduceSum <keepdims = 0> (k) v = Mul (s, u)" : " v = Identity (s)") +
          " out = Mul (" + (of.reads_y ? "y" : "e") + ", v) }",
      inputs};
}

void expect_recurrent_gradients(const RecurrentCase& of) {
  const RecurrentModel model = recurrent_model(of);
  expect_gradients_of_differences(model.text, model.inputs);
}

const std::vector<RecurrentCase> kCells{{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};

TEST(GradientsOfRecurrence, InEveryDirectionAndLayout) {
  for (RecurrentCase of : kCells) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      of.attributes = std::string(", direction = \"") + direction + "\"";
      of.directions = std::string(direction) == "bidirectional" ? 2 : 1;
      for (const bool batch_first : {false, true}) {
        of.batch_first = batch_first;
        expect_recurrent_gradients(of);
      }
    }
  }
}

TEST(GradientsOfRecurrence, WithAndWithoutWhatMayBeLeftOut) {
  for (RecurrentCase of : kCells) {
    for (int given = 0; given < 16; ++given) {
      of.biases = (given & 1) != 0;
      of.lengths = (given & 2) != 0;
      of.states = (given & 4) != 0;
      of.peepholes = (given & 8) != 0;
      if (of.peepholes && of.op != "LSTM") continue;
      expect_recurrent_gradients(of);
    }
  }
}

TEST(GradientsOfRecurrence, WithSequencesThatEndEarlyInBothDirections) {
  for (RecurrentCase of : kCells) {
    of.attributes = ", direction = \"bidirectional\"";
    of.directions = 2;
    of.lengths = true;
    expect_recurrent_gradients(of);
  }
}

TEST(GradientsOfRecurrence, OfTheLastStatesAlone) {
  for (RecurrentCase of : kCells) {
    of.reads_y = false;
    expect_recurrent_gradients(of);
    of.attributes = ", direction = \"bidirectional\"";
    of.directions = 2;
    of.lengths = true;
    expect_recurrent_gradients(of);
  }
}

// Every cell that has an op of its own for the way back.
const std::vector<RecurrentCase> kCellsWithAWayBack{
    {.op = "RNN", .gates = 1},
    {.op = "RNN", .gates = 1, .attributes = ", activations = [\"Relu\"]"},
    {.op = "RNN", .gates = 1, .attributes = ", activations = [\"Sigmoid\"]"},
    {.op = "GRU", .gates = 3},
    {.op = "GRU", .gates = 3, .attributes = ", linear_before_reset = 1"},
    {.op = "LSTM", .gates = 4}};

// Gates that are clipped where none of them comes are differentiated through Scans.
TEST(GradientsOfRecurrence, AreThoseOfScans) {
  for (const RecurrentCase& cell : kCellsWithAWayBack) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      const bool has_two = direction == "bidirectional";
      if (has_two && cell.attributes.find("activations") != std::string::npos) continue;  // for one direction
      for (const int given : {0, 1, 2, 3}) {
        RecurrentCase of = cell;
        of.attributes += ", direction = \"" + direction + "\"";
        of.directions = has_two ? 2 : 1;
        of.batch_first = (given & 1) != 0;
        of.lengths = (given & 2) != 0;
        const RecurrentModel by_kernel = recurrent_model(of);
        of.attributes += ", clip = 1e6";
        const Tensors found = testing::gradients(by_kernel.text, by_kernel.inputs);
        const Tensors expected = testing::gradients(recurrent_model(of).text, by_kernel.inputs);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(found[i].tensor.dims(), expected[i].tensor.dims());
          for (std::int64_t k = 0; k < found[i].tensor.size(); ++k)
            EXPECT_NEAR(found[i].tensor.data<double>()[k], expected[i].tensor.data<double>()[k], 1e-11)
                << of.op << of.attributes;
        }
      }
    }
  }
}

TEST(GradientsOfRecurrence, TwiceDifferentiated) {
  for (const RecurrentCase& cell : kCellsWithAWayBack) {
    for (const bool lengths : {false, true}) {
      for (const char* direction : {"forward", "reverse"}) {
        RecurrentCase of = cell;
        of.lengths = lengths;
        of.attributes += std::string(", direction = \"") + direction + "\"";
        const bool is_lstm = of.op == "LSTM";
        RecurrentModel model = recurrent_model(of);
        const auto end = model.text.rfind('}');
        model.text = model.text.substr(0, end) + " z = ReduceSum <keepdims = 0> (out) dx, dw, dr, dh" +
                     (is_lstm ? ", dc" : "") +
                     " = ai.onnx.preview.training.Gradient <xs = [\"x\", \"w\", \"r\", \"h\"" +
                     (is_lstm ? ", \"c\"" : "") + "], y = \"z\"> (x, w, r, h" + (is_lstm ? ", c" : "") +
                     ") p = ReduceSumSquare <keepdims = 0> (dx) q = ReduceSumSquare <keepdims = 0>"
                     " (dw) o = ReduceSumSquare <keepdims = 0> (dr) m = Mul (dh, " +
                     (is_lstm ? "dc" : "dh") +
                     ") n = ReduceSum <keepdims = 0> (m) result = Sum (p, q, o, n) }";
        model.text.replace(model.text.find("double[] out"), 12, "double[] result");
        expect_gradients_of_differences(model.text, model.inputs);
      }
    }
  }
}

TEST(GradientsOfRecurrence, WithTheVariantsOfItsGates) {
  for (const bool biases : {false, true}) {
    for (const bool lengths : {false, true}) {
      expect_recurrent_gradients({.op = "GRU",
                                  .gates = 3,
                                  .attributes = ", linear_before_reset = 1",
                                  .biases = biases,
                                  .lengths = lengths});
    }
    expect_recurrent_gradients(
        {.op = "LSTM", .gates = 4, .attributes = ", input_forget = 1", .biases = biases});
  }
  expect_recurrent_gradients(
      {.op = "LSTM", .gates = 4, .attributes = ", input_forget = 1", .peepholes = true});
}

// The last state is the first one, and weights have no part in it.
TEST(GradientsOfRecurrence, OfNoSteps) {
  for (const auto& [op, rows] : std::vector<std::pair<std::string, std::int64_t>>{
           {"RNN <", 4}, {"GRU <", 12}, {"GRU <linear_before_reset = 1, ", 12}, {"LSTM <", 16}}) {
    for (const char* direction : {"forward", "reverse"}) {
      const std::string text =
          "g (double[0,2,3] x, double[1,R,3] w, double[1,R,4] r, double[1,2,4] h) => (double[] o) { y, yh = " +
          op + "hidden_size = 4, direction = \"" + direction +
          "\"> (x, w, r, , , h) s = ReduceSum <keepdims = 0> (y) e = Exp (yh) o = Add (e, s) }";
      expect_gradients_of_differences(text, {tensor<double>({0, 2, 3}, {}), small({1, rows, 3}, 1),
                                             small({1, rows, 4}, 2), small({1, 2, 4}, 3)});
    }
  }
}

TEST(GradientsOfRecurrence, WithClippedGates) {
  for (RecurrentCase of : kCells) {
    of.attributes = ", clip = 0.25";
    expect_recurrent_gradients(of);
  }
}

TEST(GradientsOfRecurrence, WithEveryActivation) {
  for (const char* activation : {"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu",
                                 "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"}) {
    expect_recurrent_gradients(
        {.op = "RNN", .attributes = std::string(", activations = [\"") + activation + "\"]"});
    expect_recurrent_gradients(
        {.op = "RNN",
         .attributes = std::string(", activation_alpha = [0.3], activation_beta = [0.6], activations = [\"") +
                       activation + "\"]"});
  }
}

TEST(GradientsOfRecurrence, WithOtherActivationsInEachDirection) {
  expect_recurrent_gradients(
      {.op = "LSTM",
       .gates = 4,
       .attributes =
           ", direction = \"bidirectional\", activations = [\"HardSigmoid\", \"Elu\", \"Softsign\", \"Sigmoid\","
           " \"ScaledTanh\", \"Tanh\"], activation_alpha = [0.3, 0.9, 1.2], activation_beta = [0.4, 0.7]",
       .directions = 2});
  expect_recurrent_gradients(
      {.op = "GRU",
       .gates = 3,
       .attributes =
           ", direction = \"bidirectional\", activations = [\"Sigmoid\", \"Affine\", \"HardSigmoid\", \"Tanh\"],"
           " activation_alpha = [0.8], activation_beta = [0.3]",
       .directions = 2});
}

}  // namespace
}  // namespace podium
