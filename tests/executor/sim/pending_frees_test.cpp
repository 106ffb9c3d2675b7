#include "executor/sim/pending_frees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Step;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Step freeing(const std::vector<int>& buffers) {
  Step step{.action = executor::Compute{}};
  for (int buffer : buffers) step.frees.push_back({.buffer = BufferId{buffer}});
  return step;
}

// Buffers 0 to 99, of which the last one never goes. A step frees all of them, another the even ones, the
// last one of a loop the first two.
class PendingFreesTest : public ::testing::Test {
 protected:
  PendingFreesTest() {
    for (int i = 0; i < 100; ++i) program_.buffers.push_back(Buffer{});
    program_.buffers[99].always_live = true;
    std::vector<int> all(100);
    std::iota(all.begin(), all.end(), 0);
    std::vector<int> even;
    for (int i = 0; i < 100; i += 2) even.push_back(i);
    program_.steps.push_back(freeing(all));
    program_.steps.push_back(
        {.action = executor::Repeat{.count = 2, .body = {freeing(even), freeing({1, 0})}}});
  }

  std::vector<int> freed(PendingFrees& frees, const Step& step) {
    std::vector<int> found;
    frees.each(step,
               [&](const executor::Slot& slot) { found.push_back(slot.buffer.number()); });
    return found;
  }
  const Step& all() const { return program_.steps[0]; }
  const Step& in_loop(std::size_t i) const {
    return std::get<executor::Repeat>(program_.steps[1].action).body[i];
  }

  Program program_;
};

TEST_F(PendingFreesTest, AreThoseThatHaveBeenFilledInTheOrderOfTheStep) {
  PendingFrees frees(program_);
  EXPECT_THAT(freed(frees, all()), IsEmpty());
  for (int i : {7, 99, 4, 7}) frees.fill(BufferId{i});
  EXPECT_THAT(freed(frees, all()), ElementsAre(4, 7));
  EXPECT_THAT(freed(frees, all()), IsEmpty());
  frees.fill(BufferId{7});
  EXPECT_THAT(freed(frees, all()), ElementsAre(7));
}

TEST_F(PendingFreesTest, AreOfEachStepThatFreesThemAlsoInALoop) {
  PendingFrees frees(program_);
  for (int i : {7, 4}) frees.fill(BufferId{i});
  EXPECT_THAT(freed(frees, in_loop(0)), ElementsAre(4));
  EXPECT_THAT(freed(frees, all()), ElementsAre(4, 7));
}

TEST_F(PendingFreesTest, AreAllOfAShortList) {
  PendingFrees frees(program_);
  EXPECT_THAT(freed(frees, in_loop(1)), ElementsAre(1, 0));
}

}  // namespace
}  // namespace podium::sim
