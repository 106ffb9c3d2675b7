#include "executor/report/cause.h"

#include <gmock/gmock.h>

#include "tests/executor/report/sample_timeline.h"

namespace podium::report {
namespace {

using sim::Activity;

sim::PathPart part(int processor, Activity activity, const std::string& name, double seconds,
                   double bytes = 0) {
  return {.processor = processor,
          .activity = activity,
          .name = name,
          .seconds = seconds,
          .times = 1,
          .step_bytes = bytes};
}

sim::Timeline timeline_of(std::vector<sim::PathPart> path) {
  sim::Timeline timeline = sample_timeline();
  timeline.path = std::move(path);
  return timeline;
}

TEST(Cause, NamesTheProcessorWhatItDoesAndItsRate) {
  const sim::Timeline timeline = timeline_of(
      {part(1, Activity::HostStore, "logits", 3e-6, 3 << 20), part(0, Activity::Compute, "fc", 1e-6)});
  EXPECT_EQ(cause_sentence(timeline),
            "75.0% of the step is ipu 1 storing logits to the host (3.00 MiB at 976.56 GiB/s)");
  EXPECT_EQ(bottleneck(timeline), "ipu 1 storing logits to the host, 75.0%");
}

TEST(Cause, OfManyOpsOnOneProcessorNamesTheLargest) {
  const sim::Timeline timeline =
      timeline_of({part(0, Activity::Compute, "fc1", 1.5e-6), part(0, Activity::Compute, "fc2", 1e-6),
                   part(0, Activity::Compute, "fc3", 1e-6)});
  EXPECT_EQ(cause_sentence(timeline), "87.5% of the step is ipu 0 computing (the most for fc1, 37.5%)");
}

TEST(Cause, OfProcessorsThatWorkInTurnNamesTheWork) {
  const sim::Timeline timeline =
      timeline_of({part(0, Activity::Compute, "fc1", 1.9e-6), part(1, Activity::Compute, "fc2", 1.8e-6),
                   part(0, Activity::Exchange, "h", 0.2e-6)});
  EXPECT_EQ(cause_sentence(timeline),
            "92.5% of the step is computing on 2 processors in turn (the most for fc1, 47.5%)");
}

TEST(Cause, OfProcessorsThatWorkInTurnNamesNoOpOfOneAsWorkOfAll) {
  const sim::Timeline timeline =
      timeline_of({part(0, Activity::Compute, "loop", 1.8e-6), part(1, Activity::Compute, "fc", 0.4e-6)});
  EXPECT_EQ(cause_sentence(timeline),
            "55.0% of the step is computing on 2 processors in turn (the most for loop, 45.0%)");
  EXPECT_EQ(bottleneck(timeline), "computing on 2 processors in turn, 55.0%");
}

TEST(Cause, AnExchangeSaysWhoGetsIt) {
  sim::PathPart sent = part(0, Activity::Exchange, "pool1", 4e-6, 1024);
  sent.receiver = 1;
  EXPECT_EQ(bottleneck(timeline_of({sent})), "ipu 0 sending pool1 to ipu 1, 100.0%");
}

TEST(Cause, WhatTheHostTakesToCallIsNoStep) {
  EXPECT_EQ(cause_sentence(timeline_of({part(0, Activity::Compute, "fc", 1e-6)})),
            "75.0% of the step is the host's call");
}

TEST(Cause, MemoryThatOverflowsComesFirst) {
  sim::Timeline timeline = timeline_of({part(0, Activity::Compute, "fc", 4e-6)});
  timeline.processors[1].memory.peak = 2000;
  EXPECT_EQ(bottleneck(timeline), "memory of ipu 1");
  timeline = sample_timeline();
  timeline.processors[1].memory.streaming = 3000;
  timeline.processors[1].memory.streaming_capacity = 2000;
  EXPECT_EQ(bottleneck(timeline), "streaming memory of ipu 1");
}

}  // namespace
}  // namespace podium::report
