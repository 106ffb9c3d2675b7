// `podium compare --oracle` as a person types it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

// Two products over what is cut, a Softmax and a loss.
std::string oracle_model(const TemporaryFolder& folder) {
  return folder.write("pair.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 20]>
g (float[2,4] x) => (float[2,4] scores)
  <float[4,4] w1 = {0.1,-0.2,0.3,0.4, 0.5,0.1,-0.3,0.2, -0.1,0.2,0.4,0.3, 0.2,0.6,0.1,-0.5},
   float[4,4] w2 = {0.1,0.2,0.3,0.4, -0.3,0.2,0.1,0.7, 0.5,0.4,-0.1,0.2, 0.2,0.2,0.6,-0.1}>
{ a = MatMul(x, w1) r = Relu(a) scores = MatMul(r, w2) }
)");
}

std::string oracle_strategies(const TemporaryFolder& folder) {
  return folder.write("mine.json", R"([
      {"name": "one", "options": {"accumulationFactor": 4}},
      {"name": "pipelined", "options": {"virtualGraphMode": "Auto", "numIPUs": 2, "enablePipelining": true,
                                        "accumulationFactor": 4}},
      {"name": "cut", "options": {"tensorParallelSettings": {"devices": 2}, "accumulationFactor": 4}},
      {"name": "replicas", "options": {"replicatedGraphCount": 2, "accumulationFactor": 2}},
      {"name": "in slices", "options": {"batchSerializationSettings": {"factor": 2}, "accumulationFactor": 4}}])");
}

const nlohmann::json& named_strategy(const nlohmann::json& report, const std::string& name) {
  for (const nlohmann::json& strategy : report["strategies"]) {
    if (strategy["name"] == name) return strategy;
  }
  static const nlohmann::json kNone;
  return kNone;
}

TEST(CompareOracle, SaysOfEachStrategyWhatItsNumbersAreBesideThoseOfOneProcessor) {
  const TemporaryFolder folder;
  const std::string report = folder.file("report.json");
  const ProgramResult result = run_program(fmt::format(
      "podium compare {} --train --loss cross-entropy --optimizer adam,lr=1e-2 --quiet --oracle --steps 2 "
      "--strategies {} --report {}",
      oracle_model(folder), oracle_strategies(folder), report));
  EXPECT_EQ(result.status, 0) << result.err << result.out;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("equal to the bit (2 steps, "), HasSubstr("summed up over 2 devices, 'scores' of "),
            HasSubstr("not judged: its values are those of 2 slices of a micro-batch"),
            HasSubstr("op by op beside one processor: 2 equal to the bit, 2 but for the order of sums, 0 "
                      "part, 1 not judged\n")));
  const nlohmann::json found = nlohmann::json::parse(std::ifstream(report));
  EXPECT_EQ(named_strategy(found, "one")["oracle"]["judgement"], "equal");
  EXPECT_EQ(named_strategy(found, "pipelined")["oracle"]["judgement"], "equal");
  EXPECT_EQ(named_strategy(found, "pipelined")["oracle"]["steps"], 2);
  EXPECT_EQ(named_strategy(found, "in slices")["oracle"]["judgement"], "notJudged");
  for (const char* name : {"cut", "replicas"}) {
    const nlohmann::json& oracle = named_strategy(found, name)["oracle"];
    EXPECT_EQ(oracle["judgement"], "explained") << name;
    EXPECT_FALSE(oracle["explained"].empty()) << name;
    for (const nlohmann::json& one : oracle["explained"]) EXPECT_LE(one["difference"], one["bound"]) << one;
  }
}

TEST(CompareOracle, FollowsInference) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program(fmt::format("podium compare {} --ipus 2 --quiet --oracle --steps 2", oracle_model(folder)));
  EXPECT_EQ(result.status, 0) << result.err << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("equal to the bit (2 steps, "), HasSubstr(" 0 part")));
}

TEST(CompareOracle, RefusesToFollowWhatIsNotComputed) {
  const TemporaryFolder folder;
  const std::string command = fmt::format("podium compare {} --ipus 2 --quiet ", oracle_model(folder));
  for (const char* other : {"--estimate", "--no-verify"}) {
    const ProgramResult result = run_program(command + "--oracle " + other);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("--oracle and {} found", other)));
  }
  EXPECT_THAT(run_program(command + "--steps 2").err, HasSubstr("--steps found, --oracle needed with it"));
}

}  // namespace
}  // namespace podium::cli
