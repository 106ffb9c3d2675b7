#include "executor/sim/path.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

using sim::Activity;
using sim::PathPart;

// "ipu 1 b 3.0, ..." in microseconds, longest first.
std::string text_of(const sim::Timeline& timeline) {
  std::string text;
  for (const PathPart& part : timeline.path) {
    if (!text.empty()) text += ", ";
    text += fmt::format("ipu {} {} {:.1f}", part.processor, part.name, part.seconds / kMicro);
  }
  return text;
}

double sum_of(const sim::Timeline& timeline) {
  return std::accumulate(timeline.path.begin(), timeline.path.end(), 0.0,
                         [](double sum, const PathPart& part) { return sum + part.seconds; });
}

TEST(Path, GoesThroughTheLongerOfTwoThatRunSideBySide) {
  Sketch sketch(2, {.host = 1, .copy = 2});
  const Slot x = sketch.buffer("x", 0), a = sketch.buffer("a", 0), b = sketch.buffer("b", 1),
             c = sketch.buffer("c", 1), y = sketch.buffer("y", 1);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("short", 1, 3, {}, {b}),
                          sketch.compute("long", 0, 5, {x}, {a}), copy({{a, c}}),
                          sketch.compute("join", 1, 4, {b, c}, {y})};
  EXPECT_EQ(text_of(sketch.run()), "ipu 0 long 5.0, ipu 1 join 4.0, ipu 0 c 2.0, ipu 0 x 1.0");
}

TEST(Path, IsAsLongAsTheRun) {
  Sketch sketch(2, {.host = 1, .copy = 2});
  const Slot x = sketch.buffer("x", 0), a = sketch.buffer("a", 0), b = sketch.buffer("b", 1);
  sketch.program.steps = {repeat(1000, {sketch.from_host(x), sketch.compute("p", 0, 5, {x}, {a}),
                                        copy({{a, b}}), sketch.compute("q", 1, 7, {b}, {})})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_GT(timeline.folded_iterations, 900);
  EXPECT_NEAR(sum_of(timeline), timeline.makespan, 1e-12);
}

// A stage that takes 9 beside one that takes 2: the loop is folded, and the way goes through the slow one.
TEST(Path, CountsTheSteadyPartOfAFoldedLoopAsOftenAsItRuns) {
  Sketch sketch(2, {.copy = 1});
  const Slot a = sketch.buffer("a", 0), b = sketch.buffer("b", 1), c = sketch.filled("c", 0);
  sketch.program.steps = {repeat(
      1000, {sketch.compute("fast", 0, 2, {}, {a}), sketch.compute("slow", 1, 9, {b}, {}), copy({{a, b}})})};
  sketch.program.steps.insert(sketch.program.steps.begin(), copy({{c, b}}));
  const sim::Timeline timeline = sketch.run();
  ASSERT_FALSE(timeline.path.empty());
  EXPECT_EQ(timeline.path[0].name, "slow");
  EXPECT_NEAR(timeline.path[0].seconds / kMicro, 9000, 20);
  EXPECT_NEAR(timeline.path[0].times, 1000, 2);
  EXPECT_NEAR(timeline.path[0].step_seconds() / kMicro, 9, 1e-6);
  EXPECT_NEAR(sum_of(timeline), timeline.makespan, 1e-12);
}

TEST(Path, NestedLoopsAreFoldedInEachOther) {
  Sketch sketch(1, {.remote_load = 3});
  const Slot far = sketch.filled("far", 0, Memory::Streaming), near = sketch.buffer("near", 0);
  sketch.program.steps = {
      repeat(100, {load(far, near), repeat(50, {sketch.compute("inner", 0, 2, {near}, {})})})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_EQ(text_of(timeline), "ipu 0 inner 10000.0, ipu 0 far 300.0");
}

// A store that goes on behind the computation holds the link, and so is what the next one waits for.
TEST(Path, ALinkThatIsTakenIsTheStepThatTookIt) {
  Sketch sketch(2, {.host = 10});
  sketch.shared_host_link = true;
  const Slot a = sketch.filled("a", 0), b = sketch.filled("b", 1);
  sketch.program.steps = {sketch.to_host(a), sketch.to_host(b)};
  EXPECT_EQ(text_of(sketch.run(SyncPattern::SinglePipeline)), "ipu 0 y 10.0, ipu 1 y 10.0");
}

TEST(Awaited, IsWhatKeepsAProcessorWaiting) {
  Sketch sketch(2, {.copy = 1});
  const Slot a = sketch.buffer("a", 0), b = sketch.filled("b", 1);
  sketch.program.steps = {repeat(
      1000, {sketch.compute("fast", 0, 2, {}, {a}), sketch.compute("slow", 1, 9, {b}, {}), copy({{a, b}})})};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  EXPECT_GT(timeline.folded_iterations, 900);
  const std::vector<sim::Awaited>& awaited = timeline.processors[0].awaited;
  ASSERT_EQ(awaited.size(), 1U);
  EXPECT_EQ(awaited[0].processor, 1);
  EXPECT_EQ(awaited[0].activity, Activity::Compute);
  EXPECT_NEAR(awaited[0].seconds / kMicro, 7000, 1e-6);
  EXPECT_TRUE(timeline.processors[1].awaited.empty());
}

TEST(Awaited, IsAllThatAProcessorIsIdleWhereTheyAreFew) {
  std::mt19937 random(3);
  const auto draw = [&] { return static_cast<double>(random() % 20); };
  for (int trial = 0; trial < 50; ++trial) {
    const int stages = 2 + trial % 3;
    Sketch sketch(stages, {.host = draw(), .copy = draw()});
    Steps body;
    Slot before = sketch.buffer("x", 0);
    body.push_back(sketch.from_host(before));
    for (int i = 0; i < stages; ++i) {
      const Slot made = sketch.buffer(fmt::format("y{}", i), i);
      body.push_back(sketch.compute(fmt::format("s{}", i), i, draw(), {before}, {made}));
      if (i + 1 == stages) continue;
      before = sketch.buffer(fmt::format("x{}", i), i + 1);
      body.push_back(copy({{made, before}}));
    }
    sketch.program.steps = {repeat(200, std::move(body))};
    const SyncPattern sync = trial % 2 == 0 ? SyncPattern::Full : SyncPattern::SinglePipeline;
    for (const sim::ProcessorReport& one : sketch.run(sync, true).processors) {
      double awaited = 0;
      for (const sim::Awaited& part : one.awaited) awaited += part.seconds;
      EXPECT_NEAR(awaited, std::accumulate(one.idle.begin(), one.idle.end(), 0.0), 1e-12);
    }
  }
}

// Pipelines of some length with random times. What is named is what to make faster: halving it gains at least
// as much as halving anything else, but where another way is as long.
TEST(Path, WhatIsNamedIsWhatToMakeFaster) {
  std::mt19937 random(7);
  const auto draw = [&] { return static_cast<double>(1 + random() % 20); };
  int best = 0;
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int stages = 2 + trial % 3;
    std::vector<double> times;
    for (int i = 0; i <= stages; ++i) times.push_back(draw());
    const auto clock = [&](const std::vector<double>& micros) {
      Sketch sketch(stages, {.host = 0, .copy = micros.back()});
      Steps computes;
      std::vector<executor::Transfer> transfers;
      std::vector<Slot> in(stages), out(stages);
      for (int i = 0; i < stages; ++i) {
        in[i] = sketch.filled(fmt::format("in{}", i), i);
        out[i] = sketch.buffer(fmt::format("out{}", i), i);
        computes.push_back(sketch.compute(fmt::format("s{}", i), i, micros[i], {in[i]}, {out[i]}));
        if (i > 0) transfers.push_back({out[i - 1], in[i]});
      }
      computes.push_back(copy(transfers));
      sketch.program.steps = {repeat(500, computes)};
      return sketch.run();
    };
    const sim::Timeline timeline = clock(times);
    EXPECT_NEAR(sum_of(timeline), timeline.makespan, 1e-11);
    const PathPart& named = timeline.path[0];
    const int place = named.activity == Activity::Exchange ? stages : std::stoi(named.name.substr(1));
    std::vector<double> gains;
    for (int i = 0; i <= stages; ++i) {
      std::vector<double> faster = times;
      faster[i] /= 2;
      gains.push_back(timeline.makespan - clock(faster).makespan);
    }
    // Another stage that takes nearly as long limits the gain: then nothing alone helps as much.
    std::vector<double> computing(times.begin(), times.end() - 1);
    std::sort(computing.rbegin(), computing.rend());
    const bool is_tied = computing[1] > 0.5 * computing[0];
    if (is_tied) continue;
    ++best;
    EXPECT_GE(gains[place], 0.999 * *std::max_element(gains.begin(), gains.end()))
        << fmt::format("trial {}: {} is named", trial, named.name);
  }
  EXPECT_GT(best, kTrials / 10);
}

}  // namespace
}  // namespace podium::testing
