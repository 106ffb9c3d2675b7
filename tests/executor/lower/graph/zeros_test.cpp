#include "executor/lower/graph/zeros.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

testing::HandTrained accumulator() {
  return {.graph = testing::graph_of(R"(g (float[2] x, float[2] sum) =>
    (float[2] sum_next, float[2] sum_zero, float[2] one) <float[2] zero = {0, 0}, float[2] ones = {1, 1}> {
    sum_next = Add (sum, x)
    sum_zero = Identity <__execution_context = 1> (zero)
    one = Identity (ones)
  })")};
}

TEST(Zeros, AreWrittenByAnOpWhereAGraphTrains) {
  testing::HandTrained written = accumulator();
  written.variables = {{"sum", ir::VariableKind::Accumulator, testing::tensor<float>({2}, {0, 0})}};
  written.updates = {{"sum", 0}, {"sum", 1, true}};
  PlacedGraph placed = testing::placed_graph(std::move(written));
  fill_with_zeros(placed);
  EXPECT_EQ(testing::ops_of(placed),
            "sum_next = Add(sum, x)  # float[2]\n"
            "sum_zero = podium.Zeros() {shape=[2], dtype=1}  # float[2]  @ update\n"
            "one = Identity(ones)  # float[2]\n"
            "output sum_next, sum_zero, one\n");
}

TEST(Zeros, StayAConstantWhereNothingTrains) {
  PlacedGraph placed = testing::placed_graph(accumulator());
  const std::string before = print(placed);
  fill_with_zeros(placed);
  EXPECT_EQ(print(placed), before);
}

TEST(Zeros, AMinusZeroIsNone) {
  EXPECT_TRUE(is_all_zero(testing::tensor<float>({2}, {0, 0})));
  EXPECT_FALSE(is_all_zero(testing::tensor<float>({2}, {0, -0.0F})));
  EXPECT_TRUE(is_all_zero(testing::tensor<float>({0}, {})));
}

}  // namespace
}  // namespace podium::lower
