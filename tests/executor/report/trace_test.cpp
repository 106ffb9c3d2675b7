#include "executor/report/trace.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/executor/report/sample_timeline.h"
#include "tests/support/run_program.h"

namespace podium::report {
namespace {

using Json = nlohmann::json;

const TraceFacts kFacts{"model \"x\".onnx", "by hand", "two processors", "podium 1"};

std::string trace_text(const sim::Timeline& timeline) {
  std::ostringstream out;
  write_trace(kFacts, timeline, out);
  return out.str();
}

std::vector<Json> events(const std::string& kind, const sim::Timeline& timeline = sample_timeline()) {
  std::vector<Json> found;
  const Json trace = Json::parse(trace_text(timeline));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == kind) found.push_back(event);
  }
  return found;
}

// "0.000-2.000 ipu 0 compute: stage 0", inner slices behind the one around them; a strict reader: an E closes
// the B that was opened last on its track and has its name, category and arguments, and time never goes back
// on a track and is one that doubles add and subtract without an error.
std::vector<std::string> slices(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::size_t>> open;
  std::map<std::pair<int, int>, double> now;
  std::vector<std::string> lines;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, Json>> kinds;
  for (const Json& event : trace["traceEvents"]) {
    const std::string kind = event["ph"];
    EXPECT_NE(kind, "X");
    if (kind != "B" && kind != "E") continue;
    const std::pair track(event["pid"].get<int>(), event["tid"].get<int>());
    const double time = event["ts"];
    EXPECT_GE(time, now[track]) << event;
    EXPECT_EQ(time * 1024, std::floor(time * 1024)) << event;
    now[track] = time;
    if (kind == "B") {
      open[track].push_back(lines.size());
      names.push_back(event["name"]);
      kinds.emplace_back(event.value("cat", ""), event.value("args", Json()));
      lines.push_back(fmt::format("{:.3f}", time));
      continue;
    }
    if (open[track].empty()) {
      ADD_FAILURE() << "nothing is open: " << event;
      continue;
    }
    const std::size_t place = open[track].back();
    open[track].pop_back();
    EXPECT_EQ(event["name"], names[place]);
    EXPECT_EQ(std::pair(event.value("cat", ""), event.value("args", Json())), kinds[place]);
    lines[place] += fmt::format("-{:.3f} ipu {} {}: {}", time, track.first,
                                track.second == 0 ? "compute" : "io", names[place]);
  }
  for (const auto& [track, places] : open) EXPECT_TRUE(places.empty()) << "ipu " << track.first;
  return lines;
}

std::vector<std::string> slices(const sim::Timeline& timeline) {
  return slices(Json::parse(trace_text(timeline)));
}

TEST(Trace, HasASliceForEachStepAndEachWait) {
  EXPECT_THAT(slices(sample_timeline()),
              ::testing::ElementsAre(
                  "0.000-2.000 ipu 0 compute: stage \"0\"", "2.000-3.000 ipu 0 compute: send h to ipu 1",
                  "3.000-4.000 ipu 0 compute: wait for the end of the step",
                  "0.000-2.000 ipu 1 compute: wait for ipu 0: stage \"0\"",
                  "2.000-3.000 ipu 1 compute: receive h from ipu 0",
                  "3.000-4.000 ipu 1 compute: wait for the end of the step", "0.000-1.000 ipu 1 io: load x"));
}

TEST(Trace, DrawsTheOpsInsideABlock) {
  sim::Timeline timeline = sample_timeline();
  timeline.blocks = {
      {.name = "stage",
       .processor = 0,
       .ops = {{.name = "first", .seconds = 1.5e-6, .flop = 10}, {.name = "second", .seconds = 0.5e-6}}}};
  timeline.events[0].block = 0;
  const auto found = slices(timeline);
  EXPECT_EQ(found[1], "0.000-1.500 ipu 0 compute: first");
  EXPECT_EQ(found[2], "1.500-2.000 ipu 0 compute: second");
}

// As both halves of a gradient have one name, and readers tell slices by name and arguments.
TEST(Trace, TellsNeighboursOfOneNameByWhatTheyMake) {
  sim::Timeline timeline = sample_timeline();
  timeline.blocks = {
      {.name = "stage",
       .processor = 0,
       .ops = {{.name = "half", .type = "MatMul", .seconds = 1e-6, .flop = 10, .makes = {"a"}},
               {.name = "half", .type = "MatMul", .seconds = 1e-6, .flop = 10, .makes = {"b", "c"}}}}};
  timeline.events[0].block = 0;
  const std::vector<Json> begun = events("B", timeline);
  EXPECT_EQ(begun[1]["args"], (Json{{"type", "MatMul"}, {"flop", 10}, {"makes", "a"}}));
  EXPECT_EQ(begun[2]["args"], (Json{{"type", "MatMul"}, {"flop", 10}, {"makes", "c"}}));
}

TEST(Trace, DrawsFoldedIterationsAsOneSliceWithTheirCount) {
  sim::Timeline timeline = sample_timeline();
  timeline.makespan = 9e-6;
  timeline.folded_iterations = 7;
  timeline.folded = {{.start = 3e-6, .end = 9e-6, .processor = 0, .iterations = 7}};
  const auto found = slices(timeline);
  EXPECT_EQ(found[2], "3.000-9.000 ipu 0 compute: 7 iterations like those before");
}

TEST(Trace, SaysWhatItShowsAndWhatItLeavesOut) {
  sim::Timeline timeline = sample_timeline();
  timeline.joined_below = 2e-6;
  const Json facts = Json::parse(trace_text(timeline))["otherData"];
  EXPECT_EQ(facts["model"], kFacts.model);
  EXPECT_EQ(facts["strategy"], "by hand");
  EXPECT_EQ(facts["program"], "podium 1");
  EXPECT_EQ(facts["stepMicroseconds"], "4.000");
  EXPECT_EQ(facts["eventsJoined"], "steps of a processor that together take less than 2 us are one slice");
}

TEST(Trace, SlicesCarryWhatIsMoved) {
  const std::vector<Json> begun = events("B");
  EXPECT_EQ(begun[0]["args"]["microBatch"], 3);
  EXPECT_EQ(begun[1]["cat"], "exchange");
  EXPECT_EQ(begun[1]["args"]["bytes"], 64);
}

TEST(Trace, NamesATrackPerProcessorAndLane) {
  std::vector<std::string> names;
  for (const Json& event : events("M")) {
    if (event["args"].contains("name")) names.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("ipu 0", "compute", "io", "ipu 1", "compute", "io"));
}

TEST(Trace, DrawsAnArrowFromTheSenderIntoTheReceiver) {
  const std::vector<Json> starts = events("s");
  const std::vector<Json> ends = events("f");
  ASSERT_EQ(starts.size(), 1U);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(starts[0]["pid"], 0);
  EXPECT_EQ(ends[0]["pid"], 1);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["ts"], 2.0);
  EXPECT_EQ(ends[0]["ts"], 2.5);
}

TEST(Trace, CountsMemoryOverTime) {
  const std::vector<Json> counters = events("C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[1]["args"]["bytes"], 900);
  EXPECT_EQ(counters[1]["ts"], 1.0);
}

// The arrows' ends are pairs.
void expect_arrows_are_pairs(const Json& trace) {
  std::multiset<int> starts;
  std::multiset<int> ends;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") starts.insert(event["id"].get<int>());
    if (event["ph"] == "f") ends.insert(event["id"].get<int>());
  }
  EXPECT_EQ(starts, ends);
  EXPECT_EQ(starts.size(), std::set<int>(starts.begin(), starts.end()).size());
}

// The last slice of some compute lane ends with the step.
void expect_as_long_as_the_step(const Json& trace) {
  double end = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "E") end = std::max(end, event["ts"].get<double>());
  }
  EXPECT_EQ(fmt::format("{:.3f}", end), trace["otherData"]["stepMicroseconds"]);
}

TEST(Trace, OfARealRunNestsOnEveryTrackAndIsAsLongAsTheStep) {
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("model.onnx");
  ASSERT_EQ(testing::run_program("podium-models mnist-cnn -o " + model).status, 0);
  for (const char* flags : {"--virtual-graph-mode auto --ipus 4 --pipeline --batches-per-step 200",
                            "--virtual-graph-mode execution-phases --phases 4 --off-chip weights --ipus 2",
                            "--virtual-graph-mode auto --ipus 4 --replicas 2 --pipeline --batches-per-step 8 "
                            "--io-tiles 64 --overlap-io inner --shard weights --shard-threshold 0"}) {
    const std::string file = folder.file("trace.json");
    const auto result =
        testing::run_program(fmt::format("podium run {} --quiet {} --trace {}", model, flags, file));
    ASSERT_EQ(result.status, 0) << result.err;
    const Json trace = Json::parse(std::ifstream(file));
    EXPECT_GT(slices(trace).size(), 20U);
    expect_arrows_are_pairs(trace);
    expect_as_long_as_the_step(trace);
  }
}

TEST(Trace, IsTheSameTextEveryTime) {
  EXPECT_EQ(trace_text(sample_timeline()), trace_text(sample_timeline()));
}

}  // namespace
}  // namespace podium::report
