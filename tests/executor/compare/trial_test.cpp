#include "executor/compare/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace podium::compare {
namespace {

using report::ComparedStrategy;

Setting clocked() {
  Setting setting;
  setting.estimate = true;
  return setting;
}

// Each candidate's time is its batches per step; one of 0 is refused.
class Trials : public ::testing::Test {
 protected:
  std::vector<ComparedStrategy> attempt(const std::vector<int>& times, const Setting& setting) {
    std::vector<Candidate> candidates;
    for (const int time : times) candidates.push_back({.name = "", .strategy = {.batches_per_step = time}});
    const auto run = [&](const Candidate& candidate, ComparedStrategy& compared) {
      const int time = candidate.strategy.batches_per_step;
      if (time == 0) throw Error("no");
      compared.run.timeline.makespan = time;
      compared.run.micro_batches = 1;
      compared.run.timeline.processors.resize(1);
      if (!setting.keeps_best) return;
      compared.clocked_on = [program = alive](const device::Device&) { return sim::Timeline{}; };
    };
    return attempt_all(candidates, setting, 1, run, [](const ComparedStrategy&) {});
  }
  static std::vector<int> with_program(const std::vector<ComparedStrategy>& compared) {
    std::vector<int> kept;
    for (int i = 0; i < std::ssize(compared); ++i) {
      if (compared[i].clocked_on) kept.push_back(i);
    }
    return kept;
  }

  std::shared_ptr<int> alive = std::make_shared<int>();
};

TEST_F(Trials, KeepTheProgramOfTheBestAlone) {
  for (const int threads : {1, 3}) {
    Setting setting = clocked();
    setting.threads = threads;
    setting.keeps_best = [](const Candidate&, const report::RunReport&) { return true; };
    const auto compared = attempt({3, 0, 2, 4, 2, 0}, setting);
    EXPECT_THAT(with_program(compared), ::testing::ElementsAre(2)) << threads;
    EXPECT_EQ(alive.use_count(), 2) << threads;
    EXPECT_EQ(compared[1].refusal, "no");
  }
}

TEST_F(Trials, KeepNoProgramOfABestThatNothingIsAskedOf) {
  Setting setting = clocked();
  setting.keeps_best = [](const Candidate& candidate, const report::RunReport&) {
    return candidate.strategy.batches_per_step != 4;
  };
  EXPECT_THAT(with_program(attempt({3, 0, 2, 4, 2, 0}, setting)), ::testing::ElementsAre(2));
  setting.keeps_best = [](const Candidate& candidate, const report::RunReport&) {
    return candidate.strategy.batches_per_step != 2;
  };
  EXPECT_THAT(with_program(attempt({3, 0, 2, 4, 2, 0}, setting)), ::testing::IsEmpty());
}

TEST_F(Trials, KeepNoneWhereNoneIsAskedFor) {
  EXPECT_THAT(with_program(attempt({3, 2}, clocked())), ::testing::IsEmpty());
}

}  // namespace
}  // namespace podium::compare
