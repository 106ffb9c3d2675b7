// Which members of a body act in an iteration.
#include "executor/acting.h"

#include <gtest/gtest.h>

#include <random>

namespace podium::testing {
namespace {

using executor::Acting;
using executor::Iterations;

std::vector<int> in(Acting& acting, std::int64_t iteration) {
  const std::span<const int> found = acting.in(iteration);
  return {found.begin(), found.end()};
}

TEST(Acting, AllActWhereNothingIsSaid) {
  Acting acting(std::vector<Iterations>(3));
  EXPECT_EQ(in(acting, 0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(in(acting, 1'000'000), (std::vector<int>{0, 1, 2}));
}

TEST(Acting, StagesBeginAndEndOneAfterTheOther) {
  Acting acting({{2, 4}, {1, 3}, {0, 2}});
  EXPECT_EQ(in(acting, 0), (std::vector<int>{2}));
  EXPECT_EQ(in(acting, 1), (std::vector<int>{1, 2}));
  EXPECT_EQ(in(acting, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(in(acting, 3), (std::vector<int>{0}));
  EXPECT_EQ(in(acting, 4), std::vector<int>{});
}

TEST(Acting, AnEarlierIterationBeginsAnew) {
  Acting acting({{0, 1}, {5, 6}});
  EXPECT_EQ(in(acting, 5), (std::vector<int>{1}));
  EXPECT_EQ(in(acting, 0), (std::vector<int>{0}));
}

TEST(Acting, RandomWalksFindWhatEachMemberSays) {
  std::mt19937 random(7);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<Iterations> members(below(12));
    for (Iterations& one : members) {
      if (below(4) > 0) one = {below(20), below(25)};
    }
    Acting acting(members);
    for (std::int64_t iteration = 0; iteration < 30; iteration += below(6) == 0 ? -iteration : 1 + below(3)) {
      std::vector<int> expected;
      for (int i = 0; i < std::ssize(members); ++i) {
        if (members[i].contains(iteration)) expected.push_back(i);
      }
      EXPECT_EQ(in(acting, iteration), expected) << "round " << round << ", iteration " << iteration;
    }
  }
}

TEST(Acting, TransfersOfAnExchangeActEachInItsOwn) {
  executor::CopyBetweenProcessors exchange;
  exchange.transfers = {{.from = {}, .to = {}, .acts = {0, 2}}, {.from = {}, .to = {}, .acts = {1, 3}}};
  const executor::Step step{.action = exchange};
  executor::ActingTransfers transfers;
  const auto of = [&](std::int64_t iteration) {
    const std::span<const int> found = transfers.of(step, iteration);
    return std::vector<int>(found.begin(), found.end());
  };
  EXPECT_EQ(of(0), (std::vector<int>{0}));
  EXPECT_EQ(of(1), (std::vector<int>{0, 1}));
  EXPECT_EQ(of(2), (std::vector<int>{1}));
}

}  // namespace
}  // namespace podium::testing
