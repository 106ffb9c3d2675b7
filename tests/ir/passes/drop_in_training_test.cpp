#include "ir/passes/drop_in_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DropInTraining, GivesADropoutThatCannotSayTheInputThatMakesItDrop) {
  Graph graph = graph_of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Dropout <ratio = 0.25> (a) }", 10);
  EXPECT_TRUE(drop_in_training(graph));
  const Op& op = graph.ops.back();
  ASSERT_EQ(op.inputs.size(), 3U);
  EXPECT_TRUE(*graph[op.inputs[2]].constant->data<bool>());
  EXPECT_THAT(print(graph), Not(HasSubstr(std::string(kDropsInTraining))));
  EXPECT_FALSE(drop_in_training(graph));
}

TEST(DropInTraining, LeavesWhatSaysItself) {
  for (const char* op : {"Dropout(x)", "Dropout(x, r, t)"}) {
    Graph graph =
        graph_of("g (float[2] x, float r, bool t) => (float[2] y) { y = " + std::string(op) + " }", 13);
    const std::string before = print(graph);
    EXPECT_FALSE(drop_in_training(graph));
    EXPECT_EQ(print(graph), before);
  }
  Graph graph = graph_of("g (float[2] x) => (float[2] y) { y = Dropout <is_test = 1> (x) }", 6);
  EXPECT_FALSE(drop_in_training(graph));
}

TEST(DropInTraining, GoesIntoBodies) {
  Graph graph = graph_of(
      "g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = p () => (float[2] u) { u = Dropout (x) },"
      " else_branch = q () => (float[2] u) { u = Relu (x) }> }",
      10);
  EXPECT_THAT(print(graph), HasSubstr(std::string(kDropsInTraining)));
  EXPECT_TRUE(drop_in_training(graph));
  EXPECT_THAT(print(graph), Not(HasSubstr(std::string(kDropsInTraining))));
}

}  // namespace
}  // namespace podium::ir
