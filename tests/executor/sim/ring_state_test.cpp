#include "executor/sim/ring_state.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

// A ring of two slots that an iteration goes on by one. Iteration 0 fills slot 0, ten ticks after slot 1.
class RingStateTest : public ::testing::Test {
 protected:
  RingStateTest() {
    sketch.buffer("ring", 0, Memory::Compute, 2);
    tasks = sketch.tasks();
    clock.emplace(tasks, 0);
    clock->slots = {{10, 10, 10}, {20, 20, 20}};
    before.emplace(ring, *clock, 0);
    clock->slots[0] = {30, 30, 30};
  }

  Sketch sketch{1};
  sim::Tasks tasks;
  const sim::Ring ring{.first = 0, .slots = 2, .stride = 1, .turn = 1};
  std::optional<sim::TaskClock> clock;
  std::optional<sim::RingState> before;
};

TEST_F(RingStateTest, IsTheSameWhenEachPlaceIsAsMuchLater) {
  EXPECT_TRUE(before->same_as_now(1, 5, 15));
  EXPECT_FALSE(before->same_as_now(1, 5, 16));
}

TEST_F(RingStateTest, TellsHowChainsHaveGrownByPlace) {
  std::vector<sim::Ticks> growth;
  before->add_growth(1, growth);
  EXPECT_EQ(growth, (std::vector<sim::Ticks>{1, 10}));  // place 1: what was not written has not grown
}

// Of five slots the first two alone are looked at; the others are at rest and stay so.
TEST_F(RingStateTest, LooksAtSlotsThatAreNotAtRest) {
  Sketch wide(1);
  wide.buffer("ring", 0, Memory::Compute, 5);
  const sim::Tasks of_wide = wide.tasks();
  sim::TaskClock now(of_wide, 0);
  now.slots = {{10, 10, 10}, {}, {}, {}, {1, 1, 1}};
  const sim::Ring five{.first = 0, .slots = 5, .stride = 1, .turn = 1, .starts = {1}};
  const sim::RingSlots moving = sim::moving_slots(five, {0}, 0, 2);
  EXPECT_EQ(moving.some, (std::vector<int>{0, 1, 2}));
  const sim::RingState then(five, now, 0, moving);
  now.slots[1] = {20, 20, 20};
  EXPECT_TRUE(then.same_as_now(1, 2, 12));
  EXPECT_FALSE(then.same_as_now(1, 2, 13));
  EXPECT_EQ(then.repeat(1, 2, 10), 40);
  EXPECT_EQ(now.slots[2].ready, 30);
  EXPECT_EQ(now.slots[3].ready, 40);
  EXPECT_EQ(now.slots[4].ready, 1);
}

TEST_F(RingStateTest, LeavesTheSlotsAsMorePeriodsWould) {
  EXPECT_EQ(before->repeat(1, 2, 10), 50);
  EXPECT_EQ(clock->slots[0].ready, 50);
  EXPECT_EQ(clock->slots[0].chain, 50);
  EXPECT_EQ(clock->slots[1].ready, 40);
  EXPECT_EQ(clock->slots[1].free, 40);
}

}  // namespace
}  // namespace podium::testing
