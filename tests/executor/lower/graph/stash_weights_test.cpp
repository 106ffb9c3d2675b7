#include "executor/lower/graph/stash_weights.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

TEST(StashWeights, LaterStagesReadTheVersionThatTheFirstOneMet) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] w) => (float[2] y, float[2] w_next) {
    h = Mul (x, w)
    k = Mul (h, w)
    y = Neg <__ipu_number = 1, __pipeline_stage = 1> (k)
    d = Mul <__pipeline_stage = 2> (y, w)
    w_next = Sub <__pipeline_stage = 2, __execution_context = 1> (w, d)
  })"),
       .variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}},
       .updates = {{"w", 1, true}}});
  stash_weights(placed, merge_stages(placed));
  EXPECT_EQ(testing::ops_of(placed),
            "w__stash:0 = Identity(w)  # float[2]\n"
            "h = Mul(x, w)  # float[2]\n"
            "k = Mul(h, w)  # float[2]\n"
            "y = Neg(k)  # float[2]  @ ipu 1 stage 1\n"
            "d = Mul(y, w__stash:0)  # float[2]  @ stage 2\n"
            "w_next = Sub(w, d)  # float[2]  @ stage 2 update\n"
            "output y, w_next\n");
}

}  // namespace
}  // namespace podium::lower
