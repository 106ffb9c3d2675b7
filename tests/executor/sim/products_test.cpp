#include "executor/sim/products.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

// "count x rows x inner x columns", with "* times" where there are several one after the other.
std::string lines_of(const ir::Graph& graph) {
  std::string lines;
  for (const ir::Op& op : graph.ops) {
    for (const RepeatedProduct& one : products_of(ir::TypedOp(graph, op))) {
      const Product& p = one.product;
      lines += fmt::format("{} x {} x {} x {}{}\n", p.count, p.rows, p.inner, p.columns,
                           one.times == 1 ? "" : fmt::format(" * {}", one.times));
    }
  }
  return lines;
}

std::string products(const std::string& body) { return lines_of(testing::graph_of(body)); }

TEST(Products, OfAMatMulAreItsBatches) {
  EXPECT_EQ(products("g (float[8, 16] a, float[16, 4] b) => (y) { y = MatMul(a, b) }"), "1 x 8 x 16 x 4\n");
  EXPECT_EQ(products("g (float[3, 8, 16] a, float[3, 16, 4] b) => (y) { y = MatMul(a, b) }"),
            "3 x 8 x 16 x 4\n");
}

// The rows of all batches meet one operand.
TEST(Products, OfABroadcastOperandAreOne) {
  EXPECT_EQ(products("g (float[3, 8, 16] a, float[16, 4] b) => (y) { y = MatMul(a, b) }"),
            "1 x 24 x 16 x 4\n");
}

TEST(Products, OfAConvolutionMultiplyItsWindows) {
  EXPECT_EQ(products("g (float[1, 2, 6, 6] x, float[5, 2, 3, 3] w) => (y) { y = Conv(x, w) }"),
            "1 x 16 x 18 x 5\n");
  EXPECT_EQ(products("g (float[1, 4, 6, 6] x, float[4, 1, 3, 3] w) => (y) { y = Conv <group = 4> (x, w) }"),
            "4 x 16 x 9 x 1\n");
}

// One product for all steps, then one a step for the four gates.
TEST(Products, OfAnLstmFollowEachOther) {
  EXPECT_EQ(products("g (float[5, 2, 3] x, float[1, 16, 3] w, float[1, 16, 4] r) => (y) {\n"
                     "  y = LSTM <hidden_size = 4> (x, w, r)\n}"),
            "1 x 10 x 3 x 16\n1 x 2 x 4 x 16 * 5\n");
}

// The gates' gradients of a step give those of the state before it.
TEST(Products, OfTheGradientsOfRecurrencesGoBackStepByStep) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const auto input = [&](const char* name, ir::Dims dims) {
    return builder.input(name, ir::Type::tensor(ir::DataType::Float, std::move(dims)));
  };
  const ir::ValueId y = input("y", {5, 2, 4});
  builder.ops("podium", "LSTMGradient", {input("gates", {5, 2, 16}), input("r", {16, 4}), y}, 1);
  const ir::ValueId gates = input("gru_gates", {5, 2, 12});
  builder.ops("podium", "GRUGradient", {gates, gates, y, input("gru_r", {12, 4}), y}, 2);
  builder.ops("podium", "RNNGradient", {y, input("rnn_r", {4, 4}), y}, 1);
  EXPECT_EQ(lines_of(graph), "1 x 2 x 16 x 4 * 5\n1 x 2 x 12 x 4 * 5\n1 x 2 x 4 x 4 * 5\n");
}

TEST(Products, OfAttentionAreScoresAndValues) {
  EXPECT_EQ(products("g (float[1, 2, 6, 8] q, float[1, 2, 7, 8] k, float[1, 2, 7, 5] v) => (y) {\n"
                     "  y = Attention(q, k, v)\n}"),
            "2 x 6 x 8 x 7\n2 x 6 x 7 x 5\n");
}

TEST(Products, OfOtherOpsAreNone) {
  EXPECT_EQ(products("g (float[4, 4] a, float[4, 4] b) => (y) { y = Add(a, b) }"), "");
}

TEST(MatrixUnit, MultipliesShortFloatsAndBytes) {
  EXPECT_TRUE(has_matrix_unit(ir::DataType::Float));
  EXPECT_TRUE(has_matrix_unit(ir::DataType::Float16));
  EXPECT_TRUE(has_matrix_unit(ir::DataType::Int8));
  EXPECT_FALSE(has_matrix_unit(ir::DataType::Double));
  EXPECT_FALSE(has_matrix_unit(ir::DataType::Int32));
}

}  // namespace
}  // namespace podium::sim
