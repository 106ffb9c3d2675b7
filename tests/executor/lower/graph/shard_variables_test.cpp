#include "executor/lower/graph/shard_variables.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/graph/sharded_update.h"

namespace podium::lower {
namespace {

using testing::in_parts;
using testing::momentum_in_parts;
using testing::momentum_update;

std::string sharded(const std::map<std::string, ir::TensorLocation>& locations, int replicas) {
  PlacedGraph placed = testing::placed_graph(momentum_update());
  shard_variables(placed, locations, replicas);
  return testing::ops_of(placed);
}

// Kinds: 1 scatters, 2 gathers; reductions: 0 adds, 2 takes this replica's own.
TEST(ShardVariables, ScattersGradientsAndGathersAWholeWeight) {
  EXPECT_EQ(
      sharded(momentum_in_parts(), 2),
      "g = Mul(x, w)  # float[6]\n"
      "kept = Mul(m, half)  # float[3]  @ update\n"
      "g__s:0 = podium.lower.Collective(g) {kind=1, reduction=0, group=0, group_size=0, stride=1}  # float[3]  @ update\n"
      "m_next = Add(kept, g__s:0)  # float[3]  @ update\n"
      "w__s:1 = podium.lower.Collective(w) {kind=1, reduction=2, group=0, group_size=0, stride=1}  # float[3]  @ update\n"
      "w_next = Sub(w__s:1, m_next)  # float[3]  @ update\n"
      "w_next = podium.lower.Collective(w_next) {kind=2, reduction=0, group=0, group_size=0, stride=1}  # float[6]  @ update\n"
      "output m_next, w_next\n");
}

TEST(ShardVariables, GathersAShardedWeightWhereItIsRead) {
  EXPECT_EQ(
      sharded(momentum_in_parts(in_parts()), 2),
      "w__g:0 = podium.lower.Collective(w) {kind=2, reduction=0, group=0, group_size=0, stride=1}  # float[6]\n"
      "g = Mul(x, w__g:0)  # float[6]\n"
      "kept = Mul(m, half)  # float[3]  @ update\n"
      "g__s:1 = podium.lower.Collective(g) {kind=1, reduction=0, group=0, group_size=0, stride=1}  # float[3]  @ update\n"
      "m_next = Add(kept, g__s:1)  # float[3]  @ update\n"
      "w_next = Sub(w, m_next)  # float[3]  @ update\n"
      "output m_next, w_next\n");
}

// The last part is filled up.
TEST(ShardVariables, RoundsPartsUp) {
  PlacedGraph placed = testing::placed_graph(momentum_update());
  const Shards shards = shard_variables(placed, momentum_in_parts(), 4);
  const ir::ValueId m = testing::value_named(placed.graph(), "m");
  EXPECT_EQ(to_string(placed.graph()[m].type), "float[2]");
  EXPECT_EQ(to_string(shards.at(m).type), "float[6]");
}

}  // namespace
}  // namespace podium::lower
