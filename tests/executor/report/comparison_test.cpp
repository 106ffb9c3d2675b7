#include "executor/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/report/sample_timeline.h"

namespace podium::report {
namespace {

ComparedStrategy strategy(const std::string& name, double makespan, std::int64_t peak) {
  ComparedStrategy compared{.name = name, .run = {.timeline = sample_timeline()}};
  compared.run.timeline.makespan = makespan;
  compared.run.timeline.first_output = 3e-6;
  compared.run.timeline.path = {{.name = "fc", .seconds = makespan / 2}};
  compared.run.timeline.processors[0].memory.peak = peak;
  return compared;
}

std::vector<ComparedStrategy> five() {
  return {strategy("far too large", 1e-6, 3000),
          {.name = "illegal", .refusal = "needs two replicas"},
          strategy("slow", 4e-3, 500),
          strategy("too large", 1e-6, 1500),
          strategy("fast", 2e-3, 900)};
}

std::vector<std::string> names(const std::vector<ComparedStrategy>& strategies) {
  std::vector<std::string> names;
  for (const ComparedStrategy& compared : strategies) names.push_back(compared.name);
  return names;
}

TEST(Comparison, PutsTheFastestThatFitsFirstAndTheRefusedLast) {
  std::vector<ComparedStrategy> strategies = five();
  sort_best_first(strategies);
  EXPECT_THAT(names(strategies),
              ::testing::ElementsAre("fast", "slow", "too large", "far too large", "illegal"));
}

TEST(Comparison, PrintsARowAStrategyAndTheReasonsAtTheEnd) {
  std::vector<ComparedStrategy> strategies = five();
  sort_best_first(strategies);
  EXPECT_EQ(comparison_table(strategies),
            "strategy       fits  processors    samples/s  a processor  time a sample  latency  utilisation  "
            "largest memory   bottleneck\n"
            "fast           yes            4      1,000.0        250.0  1.00 ms        3.0 us         25.0%  "
            "900 B (90%)      ipu 0 computing fc, 50.0%\n"
            "slow           yes            4        500.0        125.0  2.00 ms        3.0 us         25.0%  "
            "500 B (50%)      ipu 0 computing fc, 50.0%\n"
            "too large      no             4  2,000,000.0    500,000.0  0.5 us         3.0 us         25.0%  "
            "1.46 KiB (150%)  memory of ipu 0\n"
            "far too large  no             4  2,000,000.0    500,000.0  0.5 us         3.0 us         25.0%  "
            "2.93 KiB (300%)  memory of ipu 0\n"
            "not possible: illegal: needs two replicas\n");
}

TEST(Comparison, LeavesOutWhatMattersLeastWhereTheTerminalIsNarrow) {
  std::vector<ComparedStrategy> strategies = five();
  sort_best_first(strategies);
  const std::string table = comparison_table(strategies, Columns::Times, 80);
  EXPECT_THAT(table,
              ::testing::StartsWith("strategy       fits    samples/s  largest memory   bottleneck\n"));
  EXPECT_THAT(comparison_table(strategies, Columns::Times, 10), ::testing::StartsWith("strategy\n"));
}

TEST(Comparison, ShowsWhatAllReplicasSendBetweenProcessorsAndFromStreamingMemory) {
  ComparedStrategy compared = strategy("a", 2e-3, 500);
  compared.run.timeline.replicas = 2;
  compared.run.timeline.links = {{.name = "host->ipu0", .replica_bytes = 7},
                                 {.name = "ipu0->ipu1", .replica_bytes = 100},
                                 {.name = "ddr0->ipu0", .replica_bytes = 20}};
  const std::string table = comparison_table({compared}, Columns::TimesAndTraffic);
  EXPECT_THAT(table, ::testing::HasSubstr("between processors  streaming memory\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex("200 B +40 B\n"));
}

TEST(Comparison, ATrainingShowsTheTimeOfAnUpdate) {
  ComparedStrategy compared = strategy("a", 8e-3, 500);
  compared.run.updates = 4;
  EXPECT_THAT(comparison_table({compared}, Columns::TimesAndTraffic),
              ::testing::ContainsRegex("an update.*\n.*2.00 ms"));
}

TEST(Comparison, SaysWhatASamplesTimeIsMadeOf) {
  std::vector<ComparedStrategy> pair{strategy("slow", 4e-3, 500), strategy("fast", 2e-3, 900),
                                     strategy("too large", 1e-6, 1500)};
  pair[0].run.timeline.path.push_back({.activity = sim::Activity::Exchange, .name = "h", .seconds = 1e-3});
  EXPECT_EQ(sample_time_table(pair, 0),
            "what a sample's time is made of  time     compute   exchange between processors  the host's "
            "call\n"
            "slow                             2.00 ms  1.00 ms   500.0 us                     500.0 us\n"
            "fast                             1.00 ms  500.0 us                               500.0 us\n");
}

TEST(Comparison, SaysWhyOneIsSlowerThanTheOneBefore) {
  std::vector<ComparedStrategy> pair{strategy("fast", 2e-3, 900), strategy("slow", 4e-3, 500),
                                     strategy("too large", 1e-6, 1500), strategy("as slow", 4e-3, 500)};
  for (const int i : {1, 3}) {
    pair[i].run.timeline.path.push_back(
        {.activity = sim::Activity::Exchange, .name = "h", .seconds = 1.8e-3});
  }
  EXPECT_EQ(
      change_sentences(pair),
      "slow is 2.00 times as slow as fast: a sample takes 900.0 us more for exchange between processors "
      "and 500.0 us more for compute\n"
      "as slow takes as long as slow\n");
}

TEST(Comparison, SaysAReasonOnceForAllThatHaveIt) {
  std::vector<ComparedStrategy> refused;
  for (const char* name : {"a", "b", "c", "d", "e"}) refused.push_back({.name = name, .refusal = "no room"});
  refused.insert(refused.begin() + 1, {.name = "x", .refusal = "no link"});
  EXPECT_EQ(comparison_table(refused), "not possible: a; b; c; and 2 more: no room\nnot possible: x: no link\n");
}

TEST(Comparison, WhatOnlyARunClocksIsNotImpossible) {
  EXPECT_EQ(comparison_table({{.name = "a", .refusal = "decided by data", .needs_run = true}}), "");
}

TEST(Comparison, KeepsTheWholeReportOfEachForMachines) {
  const nlohmann::json json = comparison_json({"m.onnx"}, five());
  EXPECT_EQ(json["strategies"][0]["run"]["fits"], false);
  EXPECT_EQ(json["strategies"][1]["refused"], "needs two replicas");
  EXPECT_FALSE(json["strategies"][1].contains("run"));
}

TEST(Comparison, SaysWhereItComesFrom) {
  const ComparedModel model{.name = "m.onnx",
                            .file = ModelFile{.crc32 = "0badcafe", .bytes = 12},
                            .provenance = Provenance{.program = "podium", .machine = {{"clockHertz", 1e9}}}};
  const nlohmann::json json = comparison_json(model, five());
  EXPECT_EQ(json["modelFile"], nlohmann::json({{"crc32", "0badcafe"}, {"bytes", 12}}));
  EXPECT_EQ(json["program"], "podium");
  EXPECT_EQ(json["machine"]["clockHertz"], 1e9);
}

}  // namespace
}  // namespace podium::report
