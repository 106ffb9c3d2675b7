#include "executor/lower/placed/op_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/lower/trained.h"

namespace podium::lower {
namespace {

using ::testing::Each;

std::vector<OpPass> passes_by_op(const ir::Training& training, const ir::Placement& placement) {
  std::vector<OpPass> found;
  const auto passes = passes_of(PlacedGraph{training, placement});
  for (ir::OpId id : training.graph.op_ids()) found.push_back(passes[id]);
  return found;
}

TEST(OpPasses, FollowFromWhereAnOpLeads) {
  const ir::Training training = testing::two_layers({});
  const ir::Placement placement = testing::on_one_processor(training);
  const PlacedGraph placed{training, placement};
  const auto passes = passes_of(placed);
  bool has_backward = false;
  for (ir::OpId id : training.graph.op_ids()) {
    const std::string& made = training.graph[training.graph[id].outputs[0]].name;
    if (made == "h" || made == "y") {
      EXPECT_EQ(passes[id], OpPass::Forward) << made;
    }
    EXPECT_EQ(passes[id] == OpPass::Update, placed.is_outer(id)) << made;
    has_backward = has_backward || passes[id] == OpPass::Backward;
  }
  EXPECT_TRUE(has_backward);
}

TEST(OpPasses, AreForwardWhereNothingTrains) {
  ir::Training training = testing::two_layers({});
  const ir::Placement placement = testing::on_one_processor(training);
  training.updates.clear();
  training.reduced.clear();
  EXPECT_THAT(passes_by_op(training, placement), Each(OpPass::Forward));
}

}  // namespace
}  // namespace podium::lower
