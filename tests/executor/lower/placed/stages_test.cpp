#include "executor/lower/placed/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/group_exchange.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;

// Ops that act on nothing, of each its processor and stage.
PlacedGraph in_stages(int stages, const std::vector<std::pair<int, int>>& ops, int processors = 1) {
  ir::Training training;
  ir::Placement placement{.ops = {}, .processors = processors, .stages = stages};
  for (const auto& [processor, stage] : ops) {
    training.graph.ops.push_back({.spec = ir::find_op("", "Identity")});
    placement.ops.push_back({.processor = processor, .stage = stage});
  }
  return {std::move(training), std::move(placement)};
}

TEST(Stages, AdjacentOnesOnOneProcessorAreOne) {
  const PlacedGraph placed = in_stages(4, {{0, 0}, {0, 1}, {1, 2}, {0, 3}});
  const Stages stages = merge_stages(placed);
  EXPECT_THAT(stages.group, ElementsAre(0, 1, 0));
  EXPECT_THAT(stages.merged, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(stages.count(), 3);
  EXPECT_EQ(stages.of(placed.placement.ops[3]), 2);
}

TEST(Stages, WithoutOpsAreNone) {
  const Stages stages = merge_stages(in_stages(3, {{0, 0}, {1, 2}}));
  EXPECT_THAT(stages.group, ElementsAre(0, 1));
  EXPECT_THAT(stages.merged, ElementsAre(0, 0, 1));
}

TEST(Stages, OfAGraphWithoutOpsAreOne) { EXPECT_THAT(merge_stages(in_stages(1, {})).group, ElementsAre(0)); }

TEST(Stages, MakeGroupsOfTheirProcessors) {
  const Stages stages = merge_stages(in_stages(3, {{0, 0}, {2, 0}, {3, 1}, {1, 1}, {2, 2}, {0, 2}}));
  EXPECT_THAT(stages.groups.processors, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(stages.group, ElementsAre(0, 1, 0));
  EXPECT_EQ(stages.groups.like(2, 1), 3);
  EXPECT_EQ(stages.groups.like(3, 1), 3);
}

TEST(Stages, LeaveAProcessorWithoutOpsAlone) {
  const Groups groups = find_groups(in_stages(1, {{0, 0}, {2, 0}}, 4));
  EXPECT_THAT(groups.processors, ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(3)));
  EXPECT_EQ(groups.like(2, 1), 1);
}

// Processor 3 has no op of its own.
TEST(Stages, HaveTheMembersOfWhatAGroupExchanges) {
  PlacedGraph placed = in_stages(2, {{0, 0}, {1, 0}, {2, 1}, {2, 1}}, 4);
  ir::Op& gather = placed.graph().ops.back();
  gather.spec = ir::find_op("podium", ir::kGroupAllGather);
  gather.inputs.resize(2);
  ir::set_attribute(gather, ir::kGroupProcessors, ir::IntList{2, 3});
  const Groups groups = find_groups(placed);
  EXPECT_THAT(groups.processors, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(groups.like(1, 1), 3);
}

}  // namespace
}  // namespace podium::lower
