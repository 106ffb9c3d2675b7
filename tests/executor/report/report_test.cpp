#include "executor/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/report/overflow.h"
#include "executor/report/table.h"
#include "tests/executor/report/sample_timeline.h"

namespace podium::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunReport sample() {
  return {.model = "m.onnx",
          .strategy = "pipelined",
          .device = "ipu-pod4",
          .micro_batches = 4,
          .samples_per_micro_batch = 8,
          .timeline = sample_timeline(),
          .outputs = {{.name = "y", .type = "float[2]", .largest_error = 0.5, .agrees = false}}};
}

RunReport overflowing() {
  RunReport report = sample();
  report.timeline.processors[0].memory.peak = 1500;
  report.timeline.processors[1].memory.peak = 1100;
  return report;
}

TEST(Table, TellsSmallSharesApart) {
  EXPECT_EQ(percentage(0.254), "25.4%");
  EXPECT_EQ(percentage(0.00044), "0.044%");
  EXPECT_EQ(percentage(0), "0.0%");
}

TEST(Report, CountsTheSamplesOfAllReplicas) {
  EXPECT_DOUBLE_EQ(samples_per_second(sample()), 8 * 4 * 2 / 4e-6);
}

TEST(Report, CarriesItsVersionAndTheTotals) {
  const nlohmann::json json = to_json(sample());
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["strategy"], "pipelined");
  EXPECT_EQ(json["replicas"], 2);
  EXPECT_EQ(json["processorsPerReplica"], 2);
  EXPECT_EQ(json["seconds"], 4e-6);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["outputs"][0]["ok"], false);
}

TEST(Report, ShowsEachProcessorsTimeSoThatItSumsToTheStep) {
  const nlohmann::json json = to_json(sample());
  for (const auto& processor : json["processors"]) {
    double total = 0;
    for (const auto& [name, seconds] : processor["busySeconds"].items()) total += seconds.get<double>();
    for (const auto& [name, seconds] : processor["idleSeconds"].items()) total += seconds.get<double>();
    EXPECT_DOUBLE_EQ(total, json["seconds"].get<double>());
  }
}

TEST(Report, SplitsMemoryIntoWhatStaysAndWhatDies) {
  const nlohmann::json json = to_json(sample())["processors"][0];
  EXPECT_EQ(json["memory"]["alwaysLive"], 600);
  EXPECT_EQ(json["memory"]["notAlwaysLive"], 300);
  EXPECT_EQ(json["memory"]["weights"], 600);
  EXPECT_EQ(json["largest"][0], (nlohmann::json{{"name", "fc1.weight"}, {"bytes", 500}}));
  EXPECT_EQ(json["memoryCurve"][1], nlohmann::json::array({1e-6, 900}));
}

TEST(Report, AddsUpTheLinksOfAKindInTheTable) {
  EXPECT_THAT(rows(sample()), ::testing::IsSupersetOf({ElementsAre("processors", "4 (2 replicas of 2)"),
                                                       ElementsAre("time of a step", "4.0 us simulated"),
                                                       ElementsAre("ipu->ipu", "56 B a replica"),
                                                       ElementsAre("host->ipu", "128 B a replica")}));
}

TEST(Report, NamesTheFullestProcessorAndWhatFillsIt) {
  EXPECT_EQ(memory_line(sample_timeline()), "ipu 0: 900 B of 1000 B (weights 600 B, activations 300 B)");
}

TEST(Report, GivesThePercentilesOfSeveralRuns) {
  const std::vector<double> times{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(times, 0.5), 5);
  EXPECT_EQ(percentile(times, 0.9), 9);
  EXPECT_EQ(percentile(times, 0.99), 10);
  EXPECT_EQ(percentile({}, 0.5), 0);
  RunReport report = sample();
  report.run_times = times;
  EXPECT_EQ(to_json(report)["realPercentiles"]["p90"], 9);
}

TEST(Overflow, IsSilentWhenEverythingFits) { EXPECT_EQ(overflow(sample()), ""); }

TEST(Overflow, NamesTheProcessorsByHowMuchAndWhatWouldHelp) {
  EXPECT_EQ(overflow(overflowing()),
            "processor  needed    there   over by  largest tensors\n"
            "ipu 0      1.46 KiB  1000 B  500 B    fc1.weight 500 B, x 200 B\n"
            "ipu 1      1.07 KiB  1000 B  100 B\n"
            "pipelined does not fit ipu-pod4: ipu 0 needs 1.46 KiB of 1000 B, most of it is weights; what "
            "would help: more processors (--ipus 8), phases with weights in streaming memory "
            "(--virtual-graph-mode execution-phases --phases 4 --off-chip weights) or --precision float16, "
            "or a share of it on each replica (--shard weights)\n");
}

TEST(Overflow, DoesNotAdviseWhatIsDoneAlready) {
  RunReport report = overflowing();
  report.options["weightTensorLocationSettings"]["location"]["storage"] = "OffChip";
  EXPECT_THAT(overflow(report),
              AllOf(HasSubstr("most of it is weights, off chip already and here while a step "
                              "uses it; what would help: more processors (--ipus 8)"),
                    ::testing::Not(HasSubstr("--off-chip weights"))));
}

TEST(Overflow, CountsStreamingMemoryToo) {
  RunReport report = sample();
  report.timeline.processors[1].memory.streaming = 3000;
  report.timeline.processors[1].memory.streaming_capacity = 2000;
  EXPECT_THAT(overflow(report), HasSubstr("ipu 1, streaming memory  2.93 KiB  1.95 KiB  1000 B"));
}

TEST(Overflow, ShowsTheWorstOfManyProcessors) {
  RunReport report = overflowing();
  report.timeline.processors.resize(40, report.timeline.processors[1]);
  EXPECT_THAT(overflow(report), HasSubstr("and 24 processors more\n"));
}

}  // namespace
}  // namespace podium::report
