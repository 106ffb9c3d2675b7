// The check of growth (`podium_bench --growth N --check`), on steps that are counted in place of times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/bench/growth_check.h"

namespace podium::bench {
namespace {

// What a stage counts with 1,000, 10,000, ... nodes.
template <class Stage>
std::vector<double> costs_of(const Stage& stage, int most_nodes) {
  std::vector<double> costs;
  for (int nodes = 1000; nodes <= most_nodes; nodes *= 10) costs.push_back(stage(nodes));
  return costs;
}

double steps_of_a_walk(int nodes) {
  double steps = 0;
  for (int i = 0; i < nodes; ++i) steps += 3;
  return steps;
}

double comparisons_of_a_sort(int nodes) {
  std::vector<int> numbers(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<int>(i * 7919LL % nodes);
  double comparisons = 0;
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) { return ++comparisons, a < b; });
  return comparisons;
}

double comparisons_of_all_pairs(int nodes) {
  double comparisons = 0;
  for (int i = 0; i < nodes; ++i) {
    for (int j = 0; j < i; ++j) ++comparisons;
  }
  return comparisons;
}

double steps_of_a_walk_for_each_of_few(int nodes) {
  const int few = static_cast<int>(std::sqrt(nodes));
  double steps = 0;
  for (int i = 0; i < few; ++i) steps += steps_of_a_walk(nodes);
  return steps;
}

TEST(GrowthCheck, LetsLinearStagesAndSortsPass) {
  for (const double allowance : {1.0, 2.0}) {
    EXPECT_FALSE(grows_too_fast(costs_of(steps_of_a_walk, 100'000), allowance));
    EXPECT_FALSE(grows_too_fast(costs_of(comparisons_of_a_sort, 100'000), allowance));
  }
}

TEST(GrowthCheck, FindsAQuadraticStageInOneStep) {
  for (const double allowance : {1.0, 2.0})
    EXPECT_TRUE(grows_too_fast(costs_of(comparisons_of_all_pairs, 10'000), allowance));
}

TEST(GrowthCheck, FindsAWalkForEachOfTheRootOfTheNodesInTwoSteps) {
  EXPECT_TRUE(grows_too_fast(costs_of(steps_of_a_walk_for_each_of_few, 10'000), 1.0));
  EXPECT_FALSE(grows_too_fast(costs_of(steps_of_a_walk_for_each_of_few, 10'000), 2.0));
  EXPECT_TRUE(grows_too_fast(costs_of(steps_of_a_walk_for_each_of_few, 100'000), 2.0));
}

TEST(GrowthCheck, FindsAQuadraticPartOnceItIsMostOfAStage) {
  const auto stage = [](int nodes) { return 6e4 * nodes + 0.5 * nodes * nodes; };
  EXPECT_FALSE(grows_too_fast(costs_of(stage, 100'000), 1.0));
  EXPECT_TRUE(grows_too_fast(costs_of(stage, 1'000'000), 1.0));
  EXPECT_TRUE(grows_too_fast(costs_of(stage, 1'000'000), 2.0));
}

TEST(GrowthCheck, ComparesWithNoCostThatIsTooSmall) {
  EXPECT_FALSE(grows_too_fast(std::vector<double>{0.01, 1.0}, 1.0));
  EXPECT_FALSE(grows_too_fast(std::vector<double>{5.0}, 1.0));
  EXPECT_TRUE(grows_too_fast(std::vector<double>{1.01, 1.0, 500.0}, 1.0));
}

TEST(GrowthCheck, AllowsForTheSteepestStepOfAWalkButNeverForTwiceAsMuch) {
  EXPECT_EQ(allowance_of_walk(costs_of(steps_of_a_walk, 100'000)), 1);
  EXPECT_EQ(allowance_of_walk(std::vector<double>{1, 15, 150}), 1.5);
  EXPECT_EQ(allowance_of_walk(std::vector<double>{1, 54, 100}), 2);
}

}  // namespace
}  // namespace podium::bench
