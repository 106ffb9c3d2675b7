#include "executor/kernels/tools/parallel.h"

#include <gmock/gmock.h>

#include <vector>

#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

TEST(ForEachOn, CallsEachOnceOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 5}) {
    std::vector<int> calls(100);
    for_each_on(threads, std::ssize(calls), [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    EXPECT_THAT(calls, ::testing::Each(1)) << threads;
  }
}

// Loops within would start threads of their own in every run.
TEST(ForEachOn, HasNoTeamOfOne) {
  for_each_on(1, 3, [](std::int64_t /*i*/) { EXPECT_EQ(omp_get_level(), 0); });
}

TEST(ForEachProduct, HasATeamOnlyForProductsSideBySide) {
  constexpr double kLarge = 1e8;
  for_each_product(3, kLarge, [](std::int64_t /*i*/) { EXPECT_EQ(omp_get_level(), 0); });
  for_each_product(1, 10, [](std::int64_t /*i*/) { EXPECT_EQ(omp_get_level(), 0); });
  constexpr double kSmall = 1e6;
  for_each_product(3, kSmall, [](std::int64_t /*i*/) { EXPECT_EQ(omp_get_level(), 1); });
}

TEST(MayUseThreads, NotWithALimitOfOneNorInATeam) {
  const ThreadLimit two(2);
  EXPECT_TRUE(may_use_threads());
  for_each_on(2, 2, [](std::int64_t /*i*/) { EXPECT_FALSE(may_use_threads()); });
  const ThreadLimit one(1);
  EXPECT_FALSE(may_use_threads());
}

}  // namespace
}  // namespace podium::kernels
