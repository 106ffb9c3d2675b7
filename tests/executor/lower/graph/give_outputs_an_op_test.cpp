#include "executor/lower/graph/give_outputs_an_op.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

TEST(GiveOutputsAnOp, CopiesInputsBesideTheirFirstReaderAndConstantsBesideTheFirstOp) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] w) => (float[2] y) <float[2] c = {1, 2}> {
    t = Neg <__ipu_number = 1> (w)
    y = Mul <__ipu_number = 2> (x, t)
  })")});
  ir::Graph& graph = placed.graph();
  for (const char* name : {"x", "c"}) graph.outputs.push_back(testing::value_named(graph, name));
  give_outputs_an_op(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "t = Neg(w)  # float[2]  @ ipu 1\n"
            "y = Mul(x, t)  # float[2]  @ ipu 2\n"
            "x = Identity(x)  # float[2]  @ ipu 2\n"
            "c = Identity(c)  # float[2]  @ ipu 1\n"
            "output y, x, c\n");
}

TEST(GiveOutputsAnOp, WorksWithoutAnyOp) {
  PlacedGraph placed =
      testing::placed_graph({.graph = testing::graph_of("g (float[2] x) => (float[2] y) { y = Neg(x) }")});
  placed.take_ops();
  placed.graph().outputs = placed.graph().inputs;
  give_outputs_an_op(placed);
  EXPECT_EQ(testing::ops_of(placed), "x = Identity(x)  # float[2]\noutput x\n");
}

}  // namespace
}  // namespace podium::lower
