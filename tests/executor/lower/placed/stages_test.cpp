#include "executor/lower/placed/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

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
  EXPECT_THAT(stages.processor, ElementsAre(0, 1, 0));
  EXPECT_THAT(stages.merged, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(stages.count(), 3);
  EXPECT_EQ(stages.of(placement.ops[3]), 2);
}

TEST(Stages, WithoutOpsAreNone) {
  const Stages stages = merge_stages(in_stages(3, {{0, 0}, {1, 2}}));
  EXPECT_THAT(stages.processor, ElementsAre(0, 1));
  EXPECT_THAT(stages.merged, ElementsAre(0, 0, 1));
}

TEST(Stages, OfAGraphWithoutOpsAreOne) {
  EXPECT_THAT(merge_stages(in_stages(1, {})).processor, ElementsAre(0));
}

TEST(Stages, AreEachOnOneProcessor) {
  EXPECT_THROW(merge_stages(in_stages(1, {{0, 0}, {1, 0}})), InternalError);
}

}  // namespace
}  // namespace podium::lower
