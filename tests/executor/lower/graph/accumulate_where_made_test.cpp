#include "executor/lower/graph/accumulate_where_made.h"

#include <gmock/gmock.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

// A weight that both stages read; `added` is what their gradients, a of ipu 0 and b of another, add.
PlacedGraph tied(const std::string& added, int other = 1) {
  return testing::placed_graph(
      {.graph = testing::graph_of(
           R"(g (float[2] x, float[2] w, float[2] sum) => (float[2] sum_next, float[2] w_next,
                                                            float[2] zero_next) {
    a = Mul (x, w)
    b = Mul <__ipu_number = )" +
           std::to_string(other) + R"(, __pipeline_stage = 1> (a, w)
    )" + added +
           R"(
    w_next = Sub <__execution_context = 1> (w, sum)
    zero_next = Sub <__execution_context = 1> (sum, sum)
  })"),
       .variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})},
                     {"sum", ir::VariableKind::Accumulator, testing::tensor<float>({2}, {0, 0})}},
       .updates = {{"w", 1, true}, {"sum", 0, false}, {"sum", 2, true}}});
}

std::string rewritten(const std::string& added) {
  PlacedGraph placed = tied(added);
  accumulate_where_made(placed, Exchanges::Apart);
  return testing::ops_of(placed);
}

TEST(AccumulateWhereMade, GivesAnotherStageAnAccumulatorOfItsOwn) {
  PlacedGraph placed = tied("both = Sum (a, b) sum_next = Add (sum, both)");
  accumulate_where_made(placed, Exchanges::Apart);
  EXPECT_EQ(testing::ops_of(placed),
            "a = Mul(x, w)  # float[2]\n"
            "b = Mul(a, w)  # float[2]  @ ipu 1 stage 1\n"
            "sum:0:2 = Add(sum:0, b)  # float[2]  @ ipu 1 stage 1\n"
            "sum_next = Add(sum, a)  # float[2]\n"
            "sum:0:3 = Identity(sum:0)  # float[2]  @ ipu 1 stage 1 update\n"
            "sum:4 = Add(sum, sum:0:3)  # float[2]  @ update\n"
            "sum:0:5 = Identity(zeros:1)  # float[2]  @ ipu 1 stage 1 update\n"
            "w_next = Sub(w, sum:4)  # float[2]  @ update\n"
            "zero_next = Sub(sum:4, sum:4)  # float[2]  @ update\n"
            "output sum_next, w_next, zero_next, sum:0:2, sum:0:5\n");
  EXPECT_EQ(placed.training.variables.size(), 3U);
  EXPECT_EQ(placed.training.updates.size(), 5U);
}

TEST(AccumulateWhereMade, LeavesOtherProcessorsWhereExchangesAreOfAllTogether) {
  PlacedGraph placed = tied("both = Sum (a, b) sum_next = Add (sum, both)");
  accumulate_where_made(placed, Exchanges::Together);
  EXPECT_THAT(testing::ops_of(placed), ::testing::HasSubstr("both = Sum(a, b)"));
}

// What an earlier stage of the processor makes would wait for as many micro-batches as are under way.
TEST(AccumulateWhereMade, GivesAnotherStageOfTheProcessorAnAccumulatorWhateverExchangesAre) {
  for (const Exchanges exchanges : {Exchanges::Together, Exchanges::Apart}) {
    PlacedGraph placed = tied("both = Sum (a, b) sum_next = Add (sum, both)", 0);
    accumulate_where_made(placed, exchanges);
    EXPECT_THAT(testing::ops_of(placed),
                ::testing::HasSubstr("sum:0:2 = Add(sum:0, b)  # float[2]  @ stage 1\n"
                                     "sum_next = Add(sum, a)  # float[2]\n"));
  }
}

// Halves are added as singles and rounded once, then again what the accumulator is of.
TEST(AccumulateWhereMade, CastsASummandToWhatTheAccumulatorIsOf) {
  const std::string ops = rewritten(
      "c = Cast <to = 10> (a) d = Cast <to = 10, __ipu_number = 1, __pipeline_stage = 1> (b) "
      "e = Cast <to = 1> (c) f = Cast <to = 1> (d) both = Sum (e, f) half = Cast <to = 10> (both) "
      "wide = Cast <to = 1> (half) sum_next = Add (sum, wide)");
  EXPECT_THAT(ops, ::testing::HasSubstr("d:2 = Cast(d) {to=1}  # float[2]  @ ipu 1 stage 1\n"
                                        "sum:0:3 = Add(sum:0, d:2)  # float[2]  @ ipu 1 stage 1\n"));
  EXPECT_THAT(ops, ::testing::HasSubstr("= Cast(c) {to=1}  # float[2]\n"));
  for (const char* none : {"= Cast(both)", "e = ", "f = "})
    EXPECT_THAT(ops, ::testing::Not(::testing::HasSubstr(none)));
}

TEST(AccumulateWhereMade, AddsUpBehindTheMakerOfEachSummand) {
  const std::string ops = rewritten(
      "c = Neg <__ipu_number = 1, __pipeline_stage = 1> (b) both = Sum (c, a, b) sum_next = Add (sum, both)");
  EXPECT_THAT(ops, ::testing::HasSubstr("c = Neg(b)  # float[2]  @ ipu 1 stage 1\n"
                                        "sum:0:2 = Add(sum:0, c)  # float[2]  @ ipu 1 stage 1\n"
                                        "sum:0:3 = Add(sum:0:2, b)  # float[2]  @ ipu 1 stage 1\n"
                                        "sum_next = Add(sum, a)"));
}

TEST(AccumulateWhereMade, LeavesWhatOneProcessorMakes) {
  const std::string ops = rewritten("c = Neg (a) both = Sum (a, c) sum_next = Add (sum, both)");
  EXPECT_THAT(ops, ::testing::HasSubstr("both = Sum(a, c)"));
  EXPECT_THAT(ops, ::testing::Not(::testing::HasSubstr("Identity")));
}

TEST(AccumulateWhereMade, LeavesASumThatSomethingElseReads) {
  const std::string ops =
      rewritten("both = Sum (a, b) c = Neg (both) d = Neg (c) sum_next = Add (sum, both)");
  EXPECT_THAT(ops, ::testing::HasSubstr("both = Sum(a, b)"));
}

}  // namespace
}  // namespace podium::lower
