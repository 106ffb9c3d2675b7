#include "executor/lower/placed/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podium::lower {
namespace {

using ::testing::ElementsAre;

// Per op, its processor and stage.
ir::Placement in_stages(int stages, const std::vector<std::pair<int, int>>& ops) {
  ir::Placement placement{.ops = {}, .stages = stages};
  for (const auto& [processor, stage] : ops)
    placement.ops.push_back({.processor = processor, .stage = stage});
  return placement;
}

TEST(Stages, AdjacentOnesOnOneProcessorAreOne) {
  const ir::Placement placement = in_stages(4, {{0, 0}, {0, 1}, {1, 2}, {0, 3}});
  const Stages stages = merge_stages(placement);
  EXPECT_THAT(stages.group, ElementsAre(0, 1, 0));
  EXPECT_THAT(stages.merged, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(stages.count(), 3);
  EXPECT_EQ(stages.of(placement.ops[3]), 2);
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
  ir::Placement placement = in_stages(1, {{0, 0}, {2, 0}});
  placement.processors = 4;
  const Groups groups = find_groups(placement);
  EXPECT_THAT(groups.processors, ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(3)));
  EXPECT_EQ(groups.like(2, 1), 1);
}

}  // namespace
}  // namespace podium::lower
