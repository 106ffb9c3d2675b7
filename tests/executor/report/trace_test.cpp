#include "executor/report/trace.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/executor/report/sample_timeline.h"
#include "tests/support/run_program.h"

namespace podium::report {
namespace {

using nlohmann::json;

std::string trace_text(const sim::Timeline& timeline) {
  std::ostringstream out;
  write_trace(timeline, out);
  return out.str();
}

std::vector<json> events(const std::string& kind) {
  std::vector<json> found;
  const json trace = json::parse(trace_text(sample_timeline()));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == kind) found.push_back(event);
  }
  return found;
}

TEST(Trace, HasASlicePerEventInMicroseconds) {
  const std::vector<json> slices = events("X");
  ASSERT_EQ(slices.size(), 4U);
  EXPECT_EQ(slices[0]["name"], "stage \"0\"");
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 2.0);
  EXPECT_EQ(slices[0]["args"]["microBatch"], 3);
  EXPECT_EQ(slices[1]["cat"], "exchange");
}

TEST(Trace, SlicesOfATrackFollowOneAnother) {
  std::map<std::pair<int, int>, double> ends;
  for (const json& slice : events("X")) {
    double& end = ends[{slice["pid"].get<int>(), slice["tid"].get<int>()}];
    EXPECT_GE(slice["ts"].get<double>(), end);
    end = slice["ts"].get<double>() + slice["dur"].get<double>();
  }
  EXPECT_EQ(ends.size(), 3U);
}

TEST(Trace, NamesATrackPerProcessorAndLane) {
  std::vector<std::string> names;
  for (const json& event : events("M")) {
    if (event["args"].contains("name")) names.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("ipu 0", "compute", "io", "ipu 1", "compute", "io"));
}

TEST(Trace, DrawsAnArrowFromTheSenderIntoTheReceiver) {
  const std::vector<json> starts = events("s");
  const std::vector<json> ends = events("f");
  ASSERT_EQ(starts.size(), 1U);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(starts[0]["pid"], 0);
  EXPECT_EQ(ends[0]["pid"], 1);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["ts"], 2.0);
  EXPECT_EQ(ends[0]["ts"], 2.5);
}

TEST(Trace, CountsMemoryOverTime) {
  const std::vector<json> counters = events("C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[1]["args"]["bytes"], 900);
  EXPECT_EQ(counters[1]["ts"], 1.0);
}

// Slices of a track hold one another or follow one another; the arrows' ends are pairs.
void expect_well_formed(const json& trace) {
  std::map<std::pair<int, int>, std::vector<double>> open;  // ends of the slices around, innermost last
  std::multiset<int> starts;
  std::multiset<int> ends;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") starts.insert(event["id"].get<int>());
    if (event["ph"] == "f") ends.insert(event["id"].get<int>());
    if (event["ph"] != "X") continue;
    constexpr double kRounding = 1e-4;  // microseconds; the file has nanoseconds
    std::vector<double>& around = open[{event["pid"].get<int>(), event["tid"].get<int>()}];
    const double start = event["ts"];
    const double end = start + event["dur"].get<double>();
    while (!around.empty() && around.back() <= start + kRounding) around.pop_back();
    EXPECT_TRUE(around.empty() || end <= around.back() + kRounding) << event;
    around.push_back(end);
  }
  EXPECT_EQ(starts, ends);
  EXPECT_EQ(starts.size(), std::set<int>(starts.begin(), starts.end()).size());
}

TEST(Trace, OfARealRunNestsOnEveryTrack) {
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("model.onnx");
  ASSERT_EQ(testing::run_program("podium-models mnist-cnn -o " + model).status, 0);
  for (const char* flags : {"--virtual-graph-mode auto --ipus 4 --pipeline --batches-per-step 8",
                            "--virtual-graph-mode execution-phases --phases 4 --off-chip weights --ipus 2",
                            "--virtual-graph-mode auto --ipus 4 --replicas 2 --pipeline --batches-per-step 8 "
                            "--io-tiles 64 --overlap-io inner --shard weights --shard-threshold 0"}) {
    const std::string file = folder.file("trace.json");
    const auto result =
        testing::run_program(fmt::format("podium run {} --quiet {} --trace {}", model, flags, file));
    ASSERT_EQ(result.status, 0) << result.err;
    expect_well_formed(json::parse(std::ifstream(file)));
  }
}

TEST(Trace, IsTheSameTextEveryTime) {
  EXPECT_EQ(trace_text(sample_timeline()), trace_text(sample_timeline()));
}

}  // namespace
}  // namespace podium::report
