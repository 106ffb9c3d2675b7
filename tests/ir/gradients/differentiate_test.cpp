#include "ir/gradients/differentiate.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

TEST(GiveWhatGradientsRead, GivesAnLstmTheStatesOfAllSteps) {
  Graph graph = testing::graph_of(
      "g (float[5, 2, 3] x, float[1, 16, 3] w, float[1, 16, 4] r) => (h) {"
      " y, h = LSTM <hidden_size = 4> (x, w, r) }");
  graph.ops[0].outputs[0] = kNoValue;
  give_what_gradients_read(graph);
  ASSERT_TRUE(graph.ops[0].outputs[0].valid());
  EXPECT_EQ(graph[graph.ops[0].outputs[0]].type, Type::tensor(DataType::Float, {5, 1, 2, 4}));
  const ValueId given = graph.ops[0].outputs[0];
  give_what_gradients_read(graph);
  EXPECT_EQ(graph.ops[0].outputs[0], given);
}

TEST(GiveWhatGradientsRead, GivesOtherCellsTheStatesOfAllSteps) {
  Graph graph = testing::graph_of(
      "g (float[5, 2, 3] x, float[1, 12, 3] w, float[1, 12, 4] r, float[1, 4, 3] v, float[1, 4, 4] s) => "
      "(h, k) { y, h = GRU <hidden_size = 4> (x, w, r) z, k = RNN <hidden_size = 4> (x, v, s) }");
  for (Op& op : graph.ops) op.outputs[0] = kNoValue;
  give_what_gradients_read(graph);
  for (const Op& op : graph.ops) {
    ASSERT_TRUE(op.outputs[0].valid());
    EXPECT_EQ(graph[op.outputs[0]].type, Type::tensor(DataType::Float, {5, 1, 2, 4}));
  }
}

TEST(GiveWhatGradientsRead, GivesADropoutItsMask) {
  Graph graph = testing::graph_of("g (float[4, 3] x) => (y) { y = Dropout (x) }");
  give_what_gradients_read(graph);
  ASSERT_EQ(graph.ops[0].outputs.size(), 2U);
  EXPECT_EQ(graph[graph.ops[0].outputs[1]].type, Type::tensor(DataType::Bool, {4, 3}));
}

// As by position would need a number for each element.
TEST(Differentiate, CutsThePaddingOff) {
  Graph graph = testing::graph_of(
      "g (float[2, 3] x) => (y) <int64[2] pads = {1, 2}, int64[1] axes = {-1}> { y = Pad (x, pads, , axes) }");
  const std::vector<ValueId> xs{graph.inputs[0]};
  const std::vector<ValueId> gradients = differentiate(graph, graph.outputs[0], xs);
  EXPECT_TRUE(graph.ops.back().is("Slice")) << print(graph);
  EXPECT_EQ(graph.ops.back().outputs[0], gradients[0]);
}

TEST(Differentiate, TurnsNoLoopOverStepsThatHaveNoElements) {
  Graph graph = testing::graph_of(
      "g (float[4294967296, 0, 2] x, float[1, 15, 2] w, float[1, 15, 5] r) => (h) {"
      " y, h = GRU <hidden_size = 5> (x, w, r) }");
  const std::vector<ValueId> xs{graph.inputs[1]};
  const std::size_t ops = graph.ops.size();
  const std::vector<ValueId> gradients = differentiate(graph, graph.outputs[0], xs);
  EXPECT_EQ(graph.ops.size(), ops);
  ASSERT_TRUE(graph.is_constant(gradients[0]));
  EXPECT_EQ(graph[gradients[0]].type, Type::tensor(DataType::Float, {1, 15, 2}));
  for (const float number : graph[gradients[0]].constant->values<float>()) EXPECT_EQ(number, 0);
}

}  // namespace
}  // namespace podium::ir
