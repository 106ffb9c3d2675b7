#include "executor/lower/graph/give_updates_an_op.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

TEST(GiveUpdatesAnOp, ResetsAnAccumulatorBesideItsFirstReaderOncePerUpdate) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] sum) =>
    (float[2] y, float[2] sum_next, float[2] zero) <float[2] zero = {0, 0}> {
    y = Mul (x, x)
    sum_next = Add <__ipu_number = 1, __pipeline_stage = 2> (sum, y)
  })"),
       .variables = {{"sum", ir::VariableKind::Accumulator, testing::tensor<float>({2}, {0, 0})}},
       .updates = {{"sum", 1}, {"sum", 2, true}}});
  give_updates_an_op(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "y = Mul(x, x)  # float[2]\n"
            "sum_next = Add(sum, y)  # float[2]  @ ipu 1 stage 2\n"
            "zero:0 = Identity(zero)  # float[2]  @ ipu 1 stage 2 update\n"
            "output y, sum_next, zero:0\n");
}

}  // namespace
}  // namespace podium::lower
