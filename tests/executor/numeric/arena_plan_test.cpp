#include "executor/numeric/arena_plan.h"

#include <gtest/gtest.h>

namespace podium::numeric {
namespace {

TEST(PlanMemory, GivesDeadMemoryToTheNextValue) {
  const ArenaPlan plan = plan_arena({{128, 0, 1}, {64, 1, 2}, {128, 2, 3}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.bytes, 192U);
}

TEST(PlanMemory, KeepsApartWhatLivesTogether) {
  const ArenaPlan plan = plan_arena({{64, 0, 5}, {64, 5, 6}});
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(PlanMemory, NeverLetsTwoLivingValuesOverlap) {
  std::vector<Lifetime> lives;
  for (int i = 0; i < 400; ++i)
    lives.push_back({static_cast<std::size_t>(i * 7919 % 5000 + 1), i, i + i * 31 % 40});
  const ArenaPlan plan = plan_arena(lives);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (lives[k].last < lives[i].first || lives[i].last < lives[k].first) continue;
      EXPECT_TRUE(plan.offsets[k] + lives[k].bytes <= plan.offsets[i] ||
                  plan.offsets[i] + lives[i].bytes <= plan.offsets[k]);
    }
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
  }
}

}  // namespace
}  // namespace podium::numeric
