// Pipelines in the form of the semantics, section 4.2: what a cycle costs, and who is where in it.
#include <gtest/gtest.h>

#include <map>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

// A processor a stage, each micro-batch one microsecond in each.
class Pipeline : public Sketch {
 public:
  Pipeline(int stages, int micro_batches, MoveTimes times = {})
      : Sketch(stages, times), stages_(stages), micro_batches_(micro_batches) {
    for (int s = 0; s < stages; ++s) {
      in_.push_back(buffer(fmt::format("in{}", s), s));
      out_.push_back(buffer(fmt::format("out{}", s), s));
    }
    const Step first_load = from_host(in_[0]);
    const Step last_store = to_host(out_.back());
    for (int s = 0; s < stages; ++s) {
      blocks_.push_back(compute(fmt::format("stage{}", s), s, 1, {in_[at(s)]}, {out_[at(s)]}));
    }
    for (int c = 0; c < micro_batches + stages - 1; ++c) add_cycle(c, first_load, last_store);
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  bool is_active(int stage, int cycle) const { return cycle >= stage && cycle < stage + micro_batches_; }

  void add_cycle(int cycle, const Step& first_load, const Step& last_store) {
    if (is_active(0, cycle)) program.steps.push_back(first_load);
    std::vector<executor::Transfer> transfers;
    for (int s = 0; s < stages_; ++s) {
      if (!is_active(s, cycle)) continue;
      program.steps.push_back(blocks_[at(s)]);
      program.steps.back().micro_batch = cycle - s;
      if (s + 1 < stages_) transfers.push_back({out_[at(s)], in_[at(s + 1)]});
    }
    if (is_active(stages_ - 1, cycle)) program.steps.push_back(last_store);
    if (!transfers.empty()) program.steps.push_back(copy(transfers));
  }

  int stages_;
  int micro_batches_;
  std::vector<Slot> in_;
  std::vector<Slot> out_;
  Steps blocks_;
};

TEST(SimulatedPipeline, TakesACyclePerMicroBatchAndOneForEachFurtherStage) {
  for (int stages : {1, 2, 4, 7}) {
    for (int micro_batches : {7, 8, 30}) {
      const sim::Timeline timeline = Pipeline(stages, micro_batches).run();
      EXPECT_DOUBLE_EQ(timeline.makespan, (micro_batches + stages - 1) * kMicro);
    }
  }
}

TEST(SimulatedPipeline, LeavesEveryProcessorIdleForTheBubble) {
  const int stages = 4;
  const int micro_batches = 12;
  const sim::Timeline timeline = Pipeline(stages, micro_batches).run();
  for (const sim::ProcessorReport& processor : timeline.processors) {
    EXPECT_DOUBLE_EQ(busy(processor, sim::Activity::Compute), micro_batches);
    double waited = 0;
    for (double seconds : processor.idle) waited += seconds;
    EXPECT_DOUBLE_EQ(waited / timeline.makespan, (stages - 1.0) / (micro_batches + stages - 1));
  }
}

TEST(SimulatedPipeline, BringsAMicroBatchToTheNextStageOneCycleLater) {
  const sim::Timeline timeline = Pipeline(3, 5).run(SyncPattern::Full, true);
  std::map<std::pair<int, int>, double> starts;
  for (const sim::Event& event : timeline.events) {
    if (event.activity == sim::Activity::Compute) starts[{event.processor, event.micro_batch}] = event.start;
  }
  ASSERT_EQ(starts.size(), 15U);
  for (const auto& [where, start] : starts) EXPECT_DOUBLE_EQ(start, (where.first + where.second) * kMicro);
}

TEST(SimulatedPipeline, PaysForEveryCyclesLoadStoreAndCopy) {
  const int stages = 3;
  const int micro_batches = 6;
  const sim::Timeline timeline = Pipeline(stages, micro_batches, {.host = 0.25, .copy = 0.5}).run();
  // Each of G + S - 1 cycles computes, all but the last copy; loads and stores are barriers of all
  // processors.
  EXPECT_DOUBLE_EQ(timeline.makespan, (8 * 1 + 7 * 0.5 + 6 * 0.25 + 6 * 0.25) * kMicro);
}

TEST(SimulatedPipeline, HasTheCriticalPathOfOneMicroBatch) {
  const sim::Timeline timeline = Pipeline(3, 20, {.host = 0.25, .copy = 0.5}).run();
  EXPECT_DOUBLE_EQ(timeline.critical_path, (0.25 + 3 * 1 + 2 * 0.5 + 0.25) * kMicro);
}

TEST(SimulatedPipeline, SendsWhatItReceives) {
  const sim::Timeline timeline = Pipeline(3, 5).run();
  EXPECT_EQ(timeline.bytes_sent, 5 * (1 + 2 + 1) * 1000);
  EXPECT_EQ(timeline.bytes_received, timeline.bytes_sent);
  const auto kExchange = static_cast<std::size_t>(sim::Activity::Exchange);
  EXPECT_EQ(timeline.processors[0].bytes[kExchange], 5 * 1000);
  EXPECT_EQ(timeline.processors[1].bytes[kExchange], 2 * 5 * 1000);
}

}  // namespace
}  // namespace podium::testing
