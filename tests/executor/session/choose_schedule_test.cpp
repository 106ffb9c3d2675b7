// Which schedule pipelineSchedule Auto takes, by estimates made up here.
#include "executor/session/choose_schedule.h"

#include <gmock/gmock.h>

#include "executor/schedule/families.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Estimate {
  double seconds = 1;
  std::int64_t bytes = 50;  ///< of 100
};

sim::Timeline timeline_of(const Estimate& estimate) {
  sim::Timeline timeline;
  timeline.makespan = estimate.seconds;
  timeline.processors.resize(2);
  for (sim::ProcessorReport& processor : timeline.processors) processor.memory.capacity = 100;
  timeline.processors[1].memory.peak = estimate.bytes;
  return timeline;
}

// Every other schedule takes two seconds.
struct Chosen {
  SessionOptions options = {};
  Notes notes = {};

  explicit Chosen(const std::map<PipelineOrder, Estimate>& estimates, Estimate others = {2, 50}) {
    options.strategy.pipelining = true;
    options.strategy.pipeline_order = PipelineOrder::Auto;
    options.strategy.accumulation_factor = 8;
    notes = choose_schedule(options, Task::Training, [&](const SessionOptions& one) {
      EXPECT_TRUE(one.estimate && one.clock);
      const auto found = estimates.find(one.strategy.pipeline_order);
      if (one.strategy.pipeline_order == PipelineOrder::VMin) throw Error("no V here");
      return timeline_of(found == estimates.end() ? others : found->second);
    });
  }
  PipelineOrder order() const { return options.strategy.pipeline_order; }
};

TEST(ChooseSchedule, TakesTheFastestThatFits) {
  const Chosen chosen({{PipelineOrder::ZeroBubbleV, {1.5, 90}}, {PipelineOrder::ZeroBubbleH2, {1.25, 108}}});
  EXPECT_EQ(chosen.order(), PipelineOrder::ZeroBubbleV);
  EXPECT_FALSE(chosen.options.estimate);
  EXPECT_THAT(chosen.notes,
              ElementsAre("pipeline schedule zb-v: 1500 ms by the clock, the best of 20; next is "
                          "lockstep with 2000 ms; 1 cannot be had here",
                          "8 % more memory would allow zb-h2: 1250 ms"));
}

TEST(ChooseSchedule, TakesTheLeastFullWhereNothingFits) {
  const Chosen chosen({{PipelineOrder::OneForwardOneBackward, {3, 110}}}, {2, 150});
  EXPECT_EQ(chosen.order(), PipelineOrder::OneForwardOneBackward);
  EXPECT_THAT(
      chosen.notes,
      ElementsAre("pipeline schedule 1f1b: 3000 ms by the clock, the best of 20, none of which fits into the "
                  "memory; next is lockstep with 2000 ms; 1 cannot be had here"));
}

TEST(ChooseSchedule, SaysWhyWhereNoneCanBeHad) {
  SessionOptions options;
  options.strategy.pipelining = true;
  options.strategy.pipeline_order = PipelineOrder::Auto;
  const auto choose = [&](const auto& fail) {
    return choose_schedule(options, Task::Training, [&](const SessionOptions&) -> sim::Timeline {
      fail();
      return {};
    });
  };
  EXPECT_THROW(choose([] { throw Error("too few ops"); }), Error);
  EXPECT_THROW(choose([] { throw DecidedByData("a size"); }), DecidedByData);
}

// Each weight gradient that waits takes ten of 100 bytes.
TEST(ChooseSchedule, DefersAsManyWeightGradientsAsFit) {
  SessionOptions options;
  options.strategy.pipelining = true;
  options.strategy.pipeline_order = PipelineOrder::ZeroBubbleH2;
  options.clock = true;
  options.device.emplace();
  const auto estimate = [](const SessionOptions& one) {
    sim::Timeline timeline = timeline_of({2, 65 + 10 * std::min(one.strategy.pipeline_deferred.value(), 14)});
    timeline.processors.resize(8, timeline.processors[0]);
    return timeline;
  };
  EXPECT_THAT(choose_schedule(options, Task::Training, estimate),
              ElementsAre("a processor puts off at most 3 weight gradients, with which the pipeline fits "
                          "(--defer-weights 3)"));
  EXPECT_EQ(options.strategy.pipeline_deferred, 3);
  EXPECT_THAT(choose_schedule(options, Task::Training, estimate), IsEmpty());
}

TEST(ChooseSchedule, LeavesOtherSchedulesAlone) {
  SessionOptions options;
  options.strategy.pipelining = true;
  const auto estimate = [](const SessionOptions&) -> sim::Timeline {
    ADD_FAILURE() << "nothing is to be estimated";
    return {};
  };
  EXPECT_THAT(choose_schedule(options, Task::Training, estimate), IsEmpty());
  EXPECT_EQ(options.strategy.pipeline_order, PipelineOrder::Lockstep);
  options.strategy.pipelining = false;
  options.strategy.pipeline_order = PipelineOrder::Auto;
  EXPECT_THAT(choose_schedule(options, Task::Training, estimate), IsEmpty());
}

std::vector<std::string> tried(int chunks, Task task) {
  Strategy asked;
  asked.accumulation_factor = 4;
  asked.pipeline_chunks = chunks;
  std::vector<std::string> names;
  for (const Strategy& strategy : scheduled_strategies(asked, task)) {
    names.push_back(
        fmt::format("{} {}", schedule::family_of(strategy.pipeline_order).name, strategy.pipeline_chunks));
  }
  return names;
}

TEST(ChooseSchedule, TriesUpToFourChunks) {
  EXPECT_THAT(tried(1, Task::Inference),
              ElementsAre("lockstep 1", "gpipe 1", "1f1b 1", "interleaved 1", "interleaved 2",
                          "interleaved 3", "interleaved 4", "breadth-first 1", "breadth-first 2",
                          "breadth-first 3", "breadth-first 4", "chimera 1"));
  EXPECT_THAT(tried(3, Task::Inference), ElementsAre("lockstep 3", "gpipe 3", "1f1b 3", "interleaved 3",
                                                     "breadth-first 3", "chimera 3"));
  EXPECT_THAT(tried(1, Task::Training), ::testing::SizeIs(21));
}

// Lockstep without accumulation reads weights of several versions.
TEST(ChooseSchedule, TriesNoOtherTraining) {
  for (const Strategy& strategy : scheduled_strategies({}, Task::Training)) {
    EXPECT_NE(strategy.pipeline_order, PipelineOrder::Lockstep);
  }
}

}  // namespace
}  // namespace podium
