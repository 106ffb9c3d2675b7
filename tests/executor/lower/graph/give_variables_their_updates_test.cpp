#include "executor/lower/graph/give_variables_their_updates.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

// The weight comes back to the host as the last output.
std::string weight_of(bool accumulates) {
  PlacedGraph placed = testing::placed_graph(
      {.graph = testing::graph_of(R"(g (float[2] x, float[2] w) => (float[2] y, float[2] w_next) {
    y = Mul (x, w)
    w_next = Sub <__ipu_number = 1, __execution_context = 1> (w, y)
  })"),
       .variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}},
       .updates = {{"w", 1, true}}});
  placed.graph().outputs.push_back(testing::value_named(placed.graph(), "w"));
  give_variables_their_updates(placed, {.accumulates = accumulates});
  return testing::ops_of(placed);
}

TEST(GiveVariablesTheirUpdates, TakesTheUpdateThatEveryMicroBatchHas) {
  EXPECT_EQ(weight_of(false),
            "y = Mul(x, w)  # float[2]\n"
            "w_next = Sub(w, y)  # float[2]  @ ipu 1 update\n"
            "w = Identity(w_next)  # float[2]  @ ipu 1 update\n"
            "output y, w_next, w\n");
}

TEST(GiveVariablesTheirUpdates, LeavesAVariableThatMicroBatchesDoNotChange) {
  EXPECT_EQ(weight_of(true),
            "y = Mul(x, w)  # float[2]\n"
            "w_next = Sub(w, y)  # float[2]  @ ipu 1 update\n"
            "output y, w_next, w\n");
}

}  // namespace
}  // namespace podium::lower
