#include "executor/numeric/arena_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace podium::numeric {
namespace {

TEST(PlanMemory, GivesDeadMemoryToTheNextValue) {
  const ArenaPlan plan = plan_arena({{128, 0, 1}, {64, 1, 2}, {128, 2, 3}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.bytes.planned, 192U);
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
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes.planned);
  }
}

TEST(PlanMemory, TellsTheMostThatLivesAtOneStep) {
  const ArenaPlan plan = plan_arena({{128, 0, 1}, {60, 1, 2}, {128, 2, 3}, {192, 4, 4}});
  EXPECT_EQ(plan.bytes.live, 192U);
  EXPECT_EQ(plan.bytes.planned, 192U);
}

// Each is without a gap in one of the three orders alone: the largest first, as they come, and those first
// that are most bytes for most steps.
TEST(PlanMemory, IsTheBestOfThreePlans) {
  const std::vector<std::vector<Lifetime>> sets = {{{256, 5, 6}, {192, 1, 4}, {192, 3, 6}},
                                                   {{256, 1, 2}, {128, 2, 3}, {64, 3, 5}, {256, 5, 6}},
                                                   {{192, 2, 5}, {128, 0, 1}, {64, 1, 3}, {192, 0, 0}}};
  for (const std::vector<Lifetime>& lives : sets) {
    const ArenaPlan plan = plan_arena(lives);
    EXPECT_EQ(plan.bytes.planned, plan.bytes.live);
  }
}

// To compare each with all others would take minutes.
TEST(PlanMemory, OfVeryManyValuesIsNearTheLeastThatTheyNeed) {
  constexpr int kValues = 300'000;
  constexpr int kLongest = 40;
  std::vector<Lifetime> lives;
  std::vector<std::size_t> needed(kValues + kLongest, 0);
  for (int i = 0; i < kValues; ++i) {
    lives.push_back({static_cast<std::size_t>(64 * (i * 7919LL % 80 + 1)), i, i + i * 31 % kLongest});
    for (int step = i; step <= lives.back().last; ++step) needed[step] += lives.back().bytes;
  }
  const ArenaPlan plan = plan_arena(lives);
  for (int i = 0; i < kValues; ++i) {
    for (int k = std::max(0, i - kLongest); k < i; ++k) {
      if (lives[k].last < i) continue;
      ASSERT_TRUE(plan.offsets[k] + lives[k].bytes <= plan.offsets[i] ||
                  plan.offsets[i] + lives[i].bytes <= plan.offsets[k]);
    }
    ASSERT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes.planned);
  }
  EXPECT_LT(plan.bytes.planned, 2 * *std::max_element(needed.begin(), needed.end()));
}

}  // namespace
}  // namespace podium::numeric
