#include "executor/lower/graph/add_second_copy.h"

#include <gmock/gmock.h>

#include "ir/error.h"
#include "ir/random_draws.h"
#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

PlacedGraph with_sum(const std::string& sum_next) {
  return testing::placed_graph(
      {.graph = testing::graph_of(
           R"(g (float[2] x, float[2] w, float[2] sum) => (float[2] y,
                                        float[2] sum_next, float[2] w_next, float[2] zero_next) {
    y = Mul (x, w)
    dw = Mul <__ipu_number = 1, __pipeline_stage = 1> (y, x)
    sum_next = )" +
           sum_next + R"(
    w_next = Sub <__ipu_number = 1, __pipeline_stage = 1, __execution_context = 1> (w, sum)
    zero_next = Sub <__ipu_number = 1, __pipeline_stage = 1, __execution_context = 1> (sum, sum)
  })"),
       .variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})},
                     {"sum", ir::VariableKind::Accumulator, testing::tensor<float>({2}, {0, 0})}},
       .updates = {{"w", 2, true}, {"sum", 1, false}, {"sum", 3, true}}});
}

TEST(AddSecondCopy, GoesTheOtherWayAndAddsToASumOfItsOwn) {
  PlacedGraph placed = with_sum("Add <__ipu_number = 1, __pipeline_stage = 1> (sum, dw)");
  add_second_copy(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "y = Mul(x, w)  # float[2]\n"
            "dw = Mul(y, x)  # float[2]  @ ipu 1 stage 1\n"
            "sum_next = Add(sum, dw)  # float[2]  @ ipu 1 stage 1\n"
            "y:3 = Mul(x:0, w)  # float[2]  @ ipu 1 stage 2\n"
            "dw:4 = Mul(y:3, x:0)  # float[2]  @ stage 3\n"
            "sum_next:5 = Add(sum:1, dw:4)  # float[2]  @ stage 3\n"
            "sum:6 = Add(sum, sum:1)  # float[2]  @ ipu 1 stage 1 update\n"
            "sum:1:7 = Identity(zeros:2)  # float[2]  @ stage 3 update\n"
            "w_next = Sub(w, sum:6)  # float[2]  @ ipu 1 stage 1 update\n"
            "zero_next = Sub(sum:6, sum:6)  # float[2]  @ ipu 1 stage 1 update\n"
            "output y, sum_next, w_next, zero_next, y:3, sum_next:5, sum:1:7\n");
  EXPECT_EQ(placed.placement.stages, 4);
  EXPECT_EQ(placed.training.variables.size(), 3U);
  EXPECT_EQ(placed.training.updates.size(), 5U);
}

TEST(AddSecondCopy, DrawsForEverySecondMicroBatch) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of("g (float[2] x) => (float[2] y) { y = RandomNormalLike (x) }")});
  add_second_copy(placed);
  ASSERT_EQ(placed.graph().ops.size(), 2U);
  EXPECT_EQ(ir::draws_of(placed.graph().ops[0]).turn, (ir::DrawnTurn{.copies = 2, .copy = 0}));
  EXPECT_EQ(ir::draws_of(placed.graph().ops[1]).turn, (ir::DrawnTurn{.copies = 2, .copy = 1}));
}

TEST(AddSecondCopy, NamesWhatBothWouldChange) {
  PlacedGraph placed = with_sum("Mul <__ipu_number = 1, __pipeline_stage = 1> (sum, dw)");
  try {
    add_second_copy(placed);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "variable 'sum': two copies of the model cannot both change it, micro-batches that only add to "
        "it are needed");
  }
}

}  // namespace
}  // namespace podium::lower
