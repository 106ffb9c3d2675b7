#include "executor/lower/graph/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/lower/graph/sharded_update.h"
#include "tests/support/refusal.h"

namespace podium::lower {
namespace {

using ::testing::HasSubstr;
using testing::in_parts;
using testing::momentum_in_parts;
using testing::momentum_update;

std::string plan(testing::HandTrained written, const std::map<std::string, ir::TensorLocation>& locations) {
  const PlacedGraph placed = testing::placed_graph(std::move(written));
  return print(placed.graph(), plan_shards(placed, locations));
}

TEST(ShardPlan, IsEmptyWhereNothingIsSharded) {
  EXPECT_EQ(plan(momentum_update(), {{"m", {}}, {"w", {}}}), "");
}

// The whole weight is made of its new parts, so the update of the momentum decides for all of it.
TEST(ShardPlan, TakesWhatIsComputedElementByElementAlong) {
  EXPECT_EQ(plan(momentum_update(), momentum_in_parts()),
            "variables: m\n"
            "on parts: kept, m_next, w_next\n"
            "scattered: g\n"
            "reduced in parts: g\n");
}

TEST(ShardPlan, AddsUpANormOverParts) {
  const std::string norm =
      "  axes = ReduceSumSquare <__execution_context = 1, keepdims = 0> (g)\n"
      "  root = Sqrt <__execution_context = 1> (axes)\n";
  EXPECT_THAT(plan(momentum_update(norm), momentum_in_parts()), HasSubstr("sums over parts: axes\n"));
}

// Something of the update reads the gradient whole, so it is reduced whole.
TEST(ShardPlan, ScattersNoGradientThatIsReadWhole) {
  const std::string sorted = "  order = CumSum <__execution_context = 1> (g, zero)\n";
  testing::HandTrained written = momentum_update();
  written.graph = testing::graph_of(
      "g (float[6] x, float[6] w, float[6] m) => (float[6] m_next, float[6] w_next, float[6] order)\n"
      "  <float half = {0.5}, int64 zero = {0}> {\n"
      "  g = Mul(x, w)\n"
      "  kept = Mul <__execution_context = 1> (m, half)\n"
      "  m_next = Add <__execution_context = 1> (kept, g)\n" +
      sorted + "  w_next = Sub <__execution_context = 1> (w, m_next)\n}");
  EXPECT_EQ(plan(std::move(written), momentum_in_parts()),
            "variables: m\n"
            "on parts: kept, m_next, w_next\n");
}

TEST(ShardPlan, OfAVelocityThatMicroBatchesAddToIsAddedUpByReplicas) {
  testing::HandTrained written = momentum_update();
  written.updates = {{"m", 0, false}, {"w", 1, true}};
  written.reduced = {"m"};
  EXPECT_THAT(plan(std::move(written), momentum_in_parts()), HasSubstr("velocities: m\n"));
}

TEST(ShardPlan, WantsOneGroupForWhatIsUpdatedTogether) {
  ir::TensorLocation pairs = in_parts();
  pairs.domain = {.type = ir::GroupType::Consecutive, .size = 2};
  EXPECT_THAT(testing::refusal([&] { plan(momentum_update(), momentum_in_parts(pairs)); }),
              HasSubstr("sharded over a group of replicas, another one is needed"));
}

}  // namespace
}  // namespace podium::lower
