#include "executor/schedule/validate.h"

#include <gmock/gmock.h>

#include "ir/error.h"

namespace podium::schedule {
namespace {

using enum Pass;

// Two processors, two micro-batches.
Schedule good() {
  return {.layout = layout_of(Shape::Loop, 2, 1),
          .micro_batches = 2,
          .orders = {{{Forward, 0, 0}, {Forward, 0, 1}, {Backward, 0, 0}, {Backward, 0, 1}},
                     {{Forward, 1, 0}, {Backward, 1, 0}, {Forward, 1, 1}, {Backward, 1, 1}}}};
}

std::string fault_of(const Schedule& schedule) {
  try {
    validate(schedule);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Validate, TakesWhatCanRun) { EXPECT_EQ(fault_of(good()), ""); }

TEST(Validate, FindsWhatIsMissing) {
  Schedule schedule = good();
  schedule.orders[1].pop_back();
  EXPECT_EQ(fault_of(schedule), "processor 1: B1 is missing");
  schedule.orders[1].push_back({InputGradient, 1, 1});
  EXPECT_EQ(fault_of(schedule), "processor 1: W1 is missing");
}

TEST(Validate, FindsWhatComesTwice) {
  Schedule schedule = good();
  schedule.orders[0].push_back({InputGradient, 0, 1});
  EXPECT_EQ(fault_of(schedule), "processor 0: I1 comes after B1 of the same micro-batch: once is needed");
  schedule.orders[0].back() = {WeightGradient, 0, 1};
  EXPECT_EQ(fault_of(schedule), "processor 0: W1 found beside B1, which has the gradients of weights too");
}

TEST(Validate, FindsWhatIsElsewhere) {
  Schedule schedule = good();
  schedule.orders[0][0].chunk = 1;
  EXPECT_EQ(fault_of(schedule), "processor 0: F0 found, chunk 1 is on processor 1");
  schedule.orders[0][0] = {Forward, 2, 0};
  EXPECT_EQ(fault_of(schedule), "processor 0: F0 found in chunk 2, the last chunk is 1");
  schedule.orders[0][0] = {Forward, 0, 2};
  EXPECT_EQ(fault_of(schedule), "processor 0: F2 found, the last micro-batch is 1");
}

TEST(Validate, KeepsQueues) {
  Schedule schedule = good();
  std::swap(schedule.orders[0][2], schedule.orders[0][3]);
  EXPECT_EQ(fault_of(schedule),
            "processor 0: B0 comes after micro-batch 1: micro-batches have to ascend in each chunk");
}

TEST(Validate, WritesACircleOut) {
  Schedule schedule = good();
  schedule.orders[0] = {{Forward, 0, 0}, {Backward, 0, 0}, {Forward, 0, 1}, {Backward, 0, 1}};
  schedule.orders[1] = {{Forward, 1, 0}, {Forward, 1, 1}, {Backward, 1, 0}, {Backward, 1, 1}};
  EXPECT_EQ(fault_of(schedule),
            "actions wait for each other: B0 on processor 0 waits for B0 behind F1 on processor 1, F1 on "
            "processor 1 waits for F1 behind B0 on processor 0");
}

TEST(Validate, InferenceHasNoWayBack) { EXPECT_EQ(fault_of(forward_only(good())), ""); }

}  // namespace
}  // namespace podium::schedule
