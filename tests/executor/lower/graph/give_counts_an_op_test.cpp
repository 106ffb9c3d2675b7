#include "executor/lower/graph/give_counts_an_op.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

TEST(GiveCountsAnOp, CopiesWhatOthersReadAndNothingElse) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float x, float count, float sum) =>
    (float y, float count_next, float sum_next) <float one = {1}> {
    count_next = Add <__ipu_number = 1> (count, one)
    y = Div (x, count_next)
    sum_next = Add (sum, y)
  })"),
       .variables = {{"count", ir::VariableKind::Accumulator, testing::tensor<float>({}, {0})},
                     {"sum", ir::VariableKind::Accumulator, testing::tensor<float>({}, {0})}},
       .updates = {{"count", 1}, {"sum", 2}}});
  give_counts_an_op(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "count_next = Add(count, one)  # float[]  @ ipu 1\n"
            "y = Div(x, count_next)  # float[]\n"
            "sum_next = Add(sum, y)  # float[]\n"
            "count_next:0 = Identity(count_next)  # float[]  @ ipu 1\n"
            "output y, count_next:0, sum_next\n");
}

}  // namespace
}  // namespace podium::lower
