#include "executor/numeric/memory_plan.h"

#include <gtest/gtest.h>

namespace podium::numeric {
namespace {

TEST(PlanMemory, GivesDeadMemoryToTheNextValue) {
  const MemoryPlan plan = plan_memory({{128, 0, 1}, {64, 1, 2}, {128, 2, 3}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.bytes, 192U);
}

TEST(PlanMemory, KeepsApartWhatLivesTogether) {
  const MemoryPlan plan = plan_memory({{64, 0, 5}, {64, 5, 6}});
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

}  // namespace
}  // namespace podium::numeric
