#include "executor/lower/draft/variables.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

// w is read on processor 0 and updated on processor 1; sum adds up on processor 0 and is reset there.
testing::HandTrained written() {
  testing::HandTrained written{.graph = testing::graph_of(R"(g (float[2] x, float[2] w, float[2] sum) =>
    (float[2] y, float[2] sum_next, float[2] w_next, float[2] sum_zero) <float[2] zero = {0, 0}> {
    y = Mul (x, w)
    sum_next = Add (sum, y)
    w_next = Sub <__execution_context = 1, __ipu_number = 1> (w, sum)
    sum_zero = Identity <__execution_context = 1> (zero)
  })")};
  const ir::Tensor zeros = testing::tensor<float>({2}, {0, 0});
  written.variables = {{"w", ir::VariableKind::Weight, zeros},
                       {"sum", ir::VariableKind::Accumulator, zeros, "w"}};
  written.updates = {{"sum", 1}, {"w", 2, true}, {"sum", 3, true}};
  written.reduced = {"sum"};
  return written;
}

const std::map<std::string, ir::TensorLocation> kOnChip{{"w", {}}, {"sum", {}}};

TEST(Variables, LiveWhereTheirUpdatesAreMadeAndWeightsHaveCopiesWhereTheyAreRead) {
  const PlacedGraph placed = testing::placed_graph(written());
  const Variables variables(placed, kOnChip, {});
  const auto value = [&](const char* name) { return testing::value_named(placed.graph(), name); };
  EXPECT_EQ(variables.processors(value("w")), (std::vector<int>{1, 0}));
  EXPECT_EQ(variables.processors(value("sum")), (std::vector<int>{0}));
  EXPECT_TRUE(variables.is_variable(value("sum")));
  EXPECT_FALSE(variables.is_variable(value("y")));
  EXPECT_EQ(variables.updated(value("w_next")), value("w"));
  EXPECT_EQ(variables.updated(value("y")), std::nullopt);
}

TEST(Variables, KnowWhatMicroBatchesAddToAndWhatResetsIt) {
  const PlacedGraph placed = testing::placed_graph(written());
  const Variables variables(placed, kOnChip, {});
  ASSERT_EQ(variables.all().size(), 2U);
  EXPECT_FALSE(variables.all()[0].accumulates);
  EXPECT_TRUE(variables.all()[1].accumulates);
  EXPECT_EQ(variables.all()[1].weight, 0);
  EXPECT_FALSE(variables.is_reset(ir::OpId{2}));
  EXPECT_TRUE(variables.is_reset(ir::OpId{3}));
  EXPECT_FALSE(variables.is_update(0));
  EXPECT_TRUE(variables.is_update(2));
}

TEST(Variables, OfWhichTwoProcessorsMakeUpdatesAreRefused) {
  testing::HandTrained other = written();
  other.graph = testing::graph_of(R"(g (float[2] x, float[2] w) => (float[2] w_next, float[2] w_last) {
    w_next = Sub (w, x)
    w_last = Sub <__execution_context = 1, __ipu_number = 1> (w, x)
  })");
  other.variables.pop_back();
  other.updates = {{"w", 0}, {"w", 1, true}};
  other.reduced = {};
  const PlacedGraph placed = testing::placed_graph(std::move(other));
  EXPECT_NE(testing::refusal([&] { Variables(placed, kOnChip, {}); }), "");
}

}  // namespace
}  // namespace podium::lower
