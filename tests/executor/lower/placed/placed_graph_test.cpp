#include "executor/lower/placed/placed_graph.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using testing::graph_of;
using testing::ops_of;
using testing::placed_graph;

PlacedGraph one_update(bool trains) {
  testing::HandTrained written{.graph =
                                   graph_of(R"(g (float[2] x, float[2] w) => (float[2] y, float[2] w_next) {
    y = Mul <__ipu_number = 1> (x, w)
    w_next = Sub <__execution_phase = 2, __execution_context = 1> (w, y)
  })")};
  if (trains) {
    written.variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}};
    written.updates = {{"w", 1, true}};
  }
  return placed_graph(std::move(written));
}

TEST(PlacedGraph, ReadsTheContextOnceWithThePlace) {
  const PlacedGraph placed = one_update(true);
  EXPECT_EQ(ops_of(placed),
            "y = Mul(x, w)  # float[2]  @ ipu 1\n"
            "w_next = Sub(w, y)  # float[2]  @ phase 2 update\n"
            "output y, w_next\n");
  EXPECT_EQ(placed.placement.phases, 3);
}

TEST(PlacedGraph, RunsEverythingInEachMicroBatchWithoutVariables) {
  const PlacedGraph placed = one_update(false);
  EXPECT_FALSE(placed.is_outer(ir::OpId{1}));
}

TEST(PlacedGraph, IsWrittenAnewWithEachOpAtItsPlace) {
  PlacedGraph placed = one_update(true);
  for (PlacedOp& one : placed.take_ops()) {
    if (one.is_outer()) {
      ir::ValueId& weight = one.op.inputs[0];
      weight = placed.append_copy(weight, "w_old", in_context(one.place, ir::Context::MicroBatch));
    }
    placed.append(std::move(one.op), one.place);
  }
  EXPECT_EQ(ops_of(placed),
            "y = Mul(x, w)  # float[2]  @ ipu 1\n"
            "w_old = Identity(w)  # float[2]  @ phase 2\n"
            "w_next = Sub(w_old, y)  # float[2]  @ phase 2 update\n"
            "output y, w_next\n");
}

TEST(PlacedGraph, NeedsAPlaceForEachOp) {
  EXPECT_THROW(PlacedGraph({.graph = one_update(false).training.graph}, {}), InternalError);
}

}  // namespace
}  // namespace podium::lower
