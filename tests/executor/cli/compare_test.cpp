// `podium compare` as a person types it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::string model(const TemporaryFolder& folder, const std::string& recipe) {
  const ProgramResult made =
      run_program(fmt::format("podium-models {} -o {}", recipe, folder.file("model.onnx")));
  EXPECT_EQ(made.status, 0) << made.err;
  return folder.file("model.onnx");
}

nlohmann::json strategies_of(const std::string& report) {
  return nlohmann::json::parse(std::ifstream(report))["strategies"];
}

TEST(Compare, RunsEveryStrategyAndSaysThatTheirNumbersAgree) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium compare " + model(folder, "mnist-cnn") +
                                           " --quiet --report " + folder.file("report.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("strategy "), HasSubstr("\npipelined over 4 "), HasSubstr("\nsharded over 4 "),
                    HasSubstr("every strategy gave the numbers of one processor")));
  double before = std::numeric_limits<double>::infinity();
  for (const nlohmann::json& strategy : strategies_of(folder.file("report.json"))) {
    ASSERT_FALSE(strategy.contains("refused")) << strategy;
    EXPECT_LE(strategy["difference"], 1e-5) << strategy["name"];
    EXPECT_LE(strategy["run"]["samplesPerSecond"], before) << strategy["name"];
    before = strategy["run"]["samplesPerSecond"];
  }
}

// The first step of a decoder has a past of no positions.
TEST(Compare, TakesInputsOfNoElements) {
  const TemporaryFolder folder;
  const std::string decoder = folder.write("m.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,past,4] keys, float[1,1,4] x) => (float[1,total,4] y) { e = Exp(x)
        all = Concat<axis = 1>(keys, e)
        y = Neg(all) })");
  const ProgramResult result = run_program("podium compare " + decoder + " --dim past=0 --ipus 2 --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("every strategy gave the numbers of one processor, bit for bit"));
}

TEST(Compare, NamesTheFileAndTheStrategyOfAMistake) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("mine.json", R"([{"name": "mine", "options": {"enablePipelinin": true}}])");
  const ProgramResult result =
      run_program("podium compare " + model(folder, "mnist-cnn") + " --strategies " + file);
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "error: " + file +
                            ": mine: unknown option 'enablePipelinin', the nearest is 'enablePipelining'\n");
}

double sum(const nlohmann::json& parts) {
  double total = 0;
  for (const auto& [name, seconds] : parts.items()) total += seconds.get<double>();
  return total;
}

TEST(Compare, ReportsTimesAndBytesThatAddUpUnderEveryStrategy) {
  const TemporaryFolder folder;
  const std::string bert = model(folder, "bert layers=4 hidden=64 heads=4 sequence=16 weights=none");
  ASSERT_EQ(
      run_program("podium compare " + bert + " --ipus 8 --estimate --quiet --report " + folder.file("r.json"))
          .status,
      0);
  for (const nlohmann::json& strategy : strategies_of(folder.file("r.json"))) {
    ASSERT_TRUE(strategy.contains("run")) << strategy;
    const nlohmann::json& run = strategy["run"];
    const double seconds = run["seconds"];
    EXPECT_GE(seconds, run["criticalPathSeconds"]) << strategy["name"];
    EXPECT_EQ(run["bytesSent"], run["bytesReceived"]) << strategy["name"];
    for (const nlohmann::json& processor : run["processors"]) {
      EXPECT_NEAR(sum(processor["busySeconds"]) + sum(processor["idleSeconds"]), seconds, 1e-9 * seconds);
      const nlohmann::json& memory = processor["memory"];
      EXPECT_EQ(memory["alwaysLive"].get<std::int64_t>() + memory["notAlwaysLive"].get<std::int64_t>(),
                memory["peak"]);
    }
  }
}

TEST(Compare, EstimatesAModelWithoutWeightsOverAWholePod) {
  const TemporaryFolder folder;
  const std::string bert = model(folder, "bert layers=24 hidden=1024 heads=16 weights=none");
  const ProgramResult result = run_program(
      "podium compare " + bert + " --ipus 16 --estimate --quiet --report " + folder.file("report.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("difference")));
  const nlohmann::json strategies = strategies_of(folder.file("report.json"));
  EXPECT_GE(strategies.size(), 8U);
  EXPECT_EQ(strategies[0]["run"]["device"], "ipu-pod16");
  EXPECT_EQ(strategies[0]["run"]["fits"], true);
  // Its weights alone are more than a processor holds.
  EXPECT_THAT(result.out, ::testing::ContainsRegex("\none processor +no +1 "));
}

TEST(Compare, TakesStrategiesFromAFileAndListsTheImpossibleWithTheirReason) {
  const TemporaryFolder folder;
  const std::string strategies = folder.write("strategies.json", R"([
      {"name": "by hand", "options": {"virtualGraphMode": "Manual"},
       "annotate": [{"match": "*", "ipu": 0}, {"match": "fc2*", "ipu": 1}]},
      {"name": "wrong", "options": {"enablePipelining": true}}])");
  const ProgramResult result = run_program(
      fmt::format("podium compare {} --quiet --strategies {}", model(folder, "mnist-cnn"), strategies));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(::testing::ContainsRegex("\nby hand +yes +2 "),
                                HasSubstr("not possible: wrong: enablePipelining needs virtualGraphMode"),
                                HasSubstr("bit for bit")));
}

TEST(Compare, ChecksAnnotationsAsASessionDoes) {
  const TemporaryFolder folder;
  const std::string strategies = folder.write("strategies.json", R"([
      {"name": "one", "options": {}},
      {"name": "partly", "options": {"virtualGraphMode": "Manual"}, "annotate": {"match": "fc2*", "ipu": 1}},
      {"name": "bare", "options": {"virtualGraphMode": "Manual"}}])");
  const ProgramResult result = run_program("podium compare --quiet --estimate " + model(folder, "mnist-cnn") +
                                           " --strategies " + strategies);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("partly: either all nodes have a virtual graph or none"),
                    HasSubstr("bare: virtualGraphMode is manual, but no node has a virtual graph")));
}

TEST(Compare, SaysWhichOptionsOfAStrategyHaveNoEffect) {
  const TemporaryFolder folder;
  const std::string strategies =
      folder.write("s.json", R"([{"name": "a", "options": {"enableStableNorm": true}}])");
  const ProgramResult result = run_program("podium compare " + model(folder, "mnist-mlp weights=none") +
                                           " --estimate --strategies " + strategies);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("s.json: a: "), HasSubstr("enableStableNorm")));
}

TEST(Compare, GivesTheSameReportEveryTime) {
  const TemporaryFolder folder;
  const std::string command =
      "podium compare " + model(folder, "mnist-mlp weights=none") + " --estimate --quiet";
  EXPECT_EQ(run_program(command).out, run_program(command).out);
}

TEST(Compare, RefusesAFileOfStrategiesThatIsNone) {
  const TemporaryFolder folder;
  const std::string start = "podium compare " + model(folder, "mnist-cnn") + " --strategies ";
  for (const std::string& file : {folder.write("s.json", "{}"), folder.file("absent.json")}) {
    const ProgramResult result = run_program(start + file);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("error: " + file));
  }
  EXPECT_EQ(run_program(start + folder.write("o.json", R"([{"options": {"enablePipeline": true}}])")).status,
            1);
}

TEST(Compare, RunsModelsWhoseSizesOnlyDataDecide) {
  const TemporaryFolder folder;
  const std::string text = folder.write("model.onnxtxt",
                                        "<ir_version: 8, opset_import: [\"\": 17]>\n"
                                        "g (float[4] x) => (int64[M,N] y) { a = Relu(x)  y = NonZero(a) }");
  const ProgramResult result = run_program("podium compare " + text + " --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nsharded over 2, 2 replicas "), HasSubstr("bit for bit")));
  EXPECT_THAT(run_program("podium compare " + text + " --estimate --quiet").out,
              AllOf(HasSubstr(" strategies are not clocked: "), HasSubstr("decided by data"),
                    EndsWith("to run them: podium compare " + text + " --quiet\n")));
}

TEST(Compare, NeedsOneModel) { EXPECT_EQ(run_program("podium compare").status, 2); }

TEST(Compare, SaysThatFilesHoldNoWholeMicroBatches) {
  const TemporaryFolder folder;
  const std::string labels = std::string(PODIUM_SOURCE_DIR) + "/models/data/digits-labels-idx1-ubyte";
  const ProgramResult result =
      run_program("podium compare " + model(folder, "mnist-cnn") + " --quiet --input image=" + labels);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("image"));
}

}  // namespace
}  // namespace podium::cli
