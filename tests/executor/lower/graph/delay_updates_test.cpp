#include "executor/lower/graph/delay_updates.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

// The update of v comes when its gradient is there, that of w waits for the last phase that reads w.
TEST(DelayUpdates, WaitForWhatTheyReadAndForTheLastUseOfTheVariable) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] v, float[2] w) =>
    (float[2] y, float[2] v_next, float[2] w_next) {
    h = Mul (x, v)
    k = Mul <__execution_phase = 1> (h, w)
    y = Mul <__execution_phase = 2> (k, w)
    v_next = Sub <__execution_context = 1> (v, k)
    w_next = Sub <__execution_context = 1> (w, v_next)
  })"),
       .variables = {{"v", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})},
                     {"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}},
       .updates = {{"v", 1, true}, {"w", 2, true}}});
  delay_updates(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "h = Mul(x, v)  # float[2]\n"
            "k = Mul(h, w)  # float[2]  @ phase 1\n"
            "y = Mul(k, w)  # float[2]  @ phase 2\n"
            "v_next = Sub(v, k)  # float[2]  @ phase 1 update\n"
            "w_next = Sub(w, v_next)  # float[2]  @ phase 2 update\n"
            "output y, v_next, w_next\n");
}

}  // namespace
}  // namespace podium::lower
