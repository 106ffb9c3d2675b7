#include "executor/sim/run_ahead.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::sim {
namespace {

using testing::kMicro;
using testing::Sketch;
using testing::Slot;
using testing::Step;
using testing::Steps;

// Two processors that compute, meet for 30 us, and compute again; what lies between is said.
struct Meeting {
  Sketch sketch{2, {.copy = 5, .collective = 30}};
  Steps steps;
  std::vector<executor::BlockId> second;

  Meeting(double kernels, double dispatch, bool exchanges_first = false) {
    std::vector<Slot> made;
    executor::GroupCollective meet;
    for (int processor : {0, 1}) {
      made.push_back(sketch.buffer("made", processor));
      steps.push_back(compute("first", processor, kernels, dispatch, {}, {made.back()}));
      const Slot sum = sketch.buffer("sum", processor);
      meet.transfers.push_back({made.back(), sum});
    }
    steps.push_back({meet});
    if (exchanges_first) {
      const Slot sent = sketch.buffer("sent", 1);
      steps.push_back({executor::CopyBetweenProcessors{{{meet.transfers[0].to, sent}}}});
    }
    for (int processor : {0, 1}) {
      const Slot end = sketch.buffer("end", processor);
      steps.push_back(compute("second", processor, kernels, dispatch, {meet.transfers[processor].to}, {end}));
      second.push_back(std::get<executor::Compute>(steps.back().action).block);
    }
    sketch.costs.movement = [](const Step& step) {
      return StepCost{std::holds_alternative<executor::GroupCollective>(step.action) ? 30 * kMicro : 0};
    };
  }

  Step compute(const char* name, int processor, double kernels, double dispatch, std::vector<Slot> reads,
               std::vector<Slot> writes) {
    Step step =
        sketch.compute(name, processor, std::max(kernels, dispatch), std::move(reads), std::move(writes));
    BlockCost& cost = sketch.costs.blocks[std::get<executor::Compute>(step.action).block];
    cost.kernel_seconds = kernels * kMicro;
    cost.dispatch_seconds = dispatch * kMicro;
    return step;
  }

  /// Microseconds of the second block of each processor.
  std::vector<double> second_blocks() {
    sketch.program.steps = steps;
    let_host_run_ahead(sketch.program, sketch.costs);
    std::vector<double> micros;
    for (executor::BlockId id : second) micros.push_back(sketch.costs.blocks[id].seconds / kMicro);
    return micros;
  }
};

void expect_micros(Meeting meeting, double each) {
  for (double micros : meeting.second_blocks()) EXPECT_NEAR(micros, each, 1e-9);
}

TEST(RunAhead, DispatchGoesOnWhileDevicesMeet) {
  expect_micros(Meeting(10, 100), 70);
  expect_micros(Meeting(10, 35), 10);  // more lead than that is of no use
}

TEST(RunAhead, KernelsThatAreSlowerStayAsTheyAre) { expect_micros(Meeting(100, 10), 100); }

TEST(RunAhead, TheHostWaitsForAnExchange) { expect_micros(Meeting(10, 100, true), 100); }

TEST(RunAhead, EachTurnOfALoopBeginsAnew) {
  Meeting meeting(10, 100);
  Steps body = meeting.steps;
  meeting.steps = {{executor::Repeat{3, body}}};
  for (double micros : meeting.second_blocks()) EXPECT_NEAR(micros, 70, 1e-9);
}

TEST(RunAhead, ABlockThatRunsAtSeveralPlacesGetsTheMean) {
  Meeting meeting(10, 100);
  const Step again = meeting.steps[3];
  meeting.steps.insert(meeting.steps.begin(), again);  // there without a lead
  const std::vector<double> micros = meeting.second_blocks();
  EXPECT_NEAR(micros[0], 85, 1e-9);
  EXPECT_NEAR(micros[1], 70, 1e-9);
}

}  // namespace
}  // namespace podium::sim
