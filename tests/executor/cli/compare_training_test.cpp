// `podium compare --train` as a person types it.
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
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using ::testing::StartsWith;
using testing::TemporaryFolder;

// Two layers with statistics between them, and scores of three classes.
std::string half_model(const TemporaryFolder& folder) {
  return folder.write("small.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 20]>
g (float[2,4] x) => (float[2,3] scores)
  <float[4,4] w1 = {0.1,-0.2,0.3,0.4, 0.5,0.1,-0.3,0.2, -0.1,0.2,0.4,0.3, 0.2,0.6,0.1,-0.5},
   float[4] scale = {1,1,1,1}, float[4] bias = {0,0,0,0}, float[4] mean = {0,0,0,0}, float[4] var = {1,1,1,1},
   float[4,3] w2 = {0.1,0.2,0.3, -0.3,0.2,0.1, 0.5,0.4,-0.1, 0.2,0.2,0.6}>
{ a = MatMul(x, w1)
  n, new_mean, new_var = BatchNormalization <training_mode = 1> (a, scale, bias, mean, var)
  r = Tanh(n)
  scores = MatMul(r, w2) }
)");
}

std::string small_bert(const TemporaryFolder& folder, int layers) {
  std::string file = folder.file("bert.onnx");
  EXPECT_EQ(run_program(fmt::format("podium-models bert layers={} hidden=64 heads=4 sequence=16 weights=none "
                                    "loss=cross-entropy -o {}",
                                    layers, file))
                .status,
            0);
  return file;
}

std::string compare(const std::string& model, const std::string& flags) {
  return fmt::format("podium compare {} --train --loss cross-entropy --quiet {}", model, flags);
}

nlohmann::json training_strategies_of(const std::string& report) {
  return nlohmann::json::parse(std::ifstream(report))["strategies"];
}

TEST(CompareTraining, TrainsUnderEveryStrategyAndSaysThatTheWeightsAgree) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(compare(
      half_model(folder), "--optimizer adam,lr=1e-2 --ipus 4 --report " + folder.file("report.json")));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("strategy "), HasSubstr("between processors  streaming memory"),
                                HasSubstr("\npipelined over 4, recomputation "),
                                HasSubstr("\none processor, 4 replicas "),
                                HasSubstr("every strategy gave the numbers of one processor")));
  const nlohmann::json strategies = training_strategies_of(folder.file("report.json"));
  EXPECT_GE(strategies.size(), 15U);
  int refused = 0;
  for (const nlohmann::json& strategy : strategies) {
    // Two chunks on each of four processors are more than this model can be cut into.
    if (std::string(strategy["name"]).starts_with("pipelined over 4, ") && strategy.contains("refused")) {
      EXPECT_THAT(std::string(strategy["refused"]), HasSubstr("could not find enough splits for 8"));
      ++refused;
      continue;
    }
    ASSERT_TRUE(strategy.contains("difference")) << strategy;
    EXPECT_LE(strategy["difference"], 1e-5) << strategy["name"];
  }
  EXPECT_EQ(refused, 2);
}

TEST(CompareTraining, EstimatesAModelWithoutWeightsOverAWholePod) {
  const TemporaryFolder folder;
  const std::string bert = small_bert(folder, 8);
  const ProgramResult result = run_program(fmt::format(
      "podium compare {} --train --loss-tensor loss --optimizer lamb --ipus 16 --estimate --quiet "
      "--report {}",
      bert, folder.file("report.json")));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(Not(HasSubstr("difference")), Not(HasSubstr("not possible"))));
  const nlohmann::json strategies = training_strategies_of(folder.file("report.json"));
  EXPECT_GE(strategies.size(), 20U);
  for (const nlohmann::json& strategy : strategies) {
    EXPECT_EQ(strategy["run"]["bytesSent"], strategy["run"]["bytesReceived"]) << strategy["name"];
  }
}

TEST(CompareTraining, WhereNoStrategyIsPossibleTheStatusSaysSo) {
  const TemporaryFolder folder;
  const std::string bert = small_bert(folder, 1);
  const std::string command =
      "podium compare " + bert + " --train --optimizer sgd --ipus 2 --estimate --loss-tensor ";
  const ProgramResult result = run_program(command + "los");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("no strategy is possible\n"));
  EXPECT_THAT(result.out + result.err, HasSubstr("loss 'los': the model has no tensor of this name"));
  EXPECT_EQ(run_program(command + "loss").status, 0);
}

// Without accumulation a pipeline works with weights that are some micro-batches old.
TEST(CompareTraining, SaysByHowMuchAStrategyTrainsOtherwise) {
  const TemporaryFolder folder;
  const std::string strategies = folder.write("mine.json", R"([
      {"name": "flushed", "options": {"virtualGraphMode": "Auto", "numIPUs": 2, "enablePipelining": true,
                                      "accumulationFactor": 8}},
      {"name": "stale", "options": {"virtualGraphMode": "Auto", "numIPUs": 2, "enablePipelining": true,
                                    "batchesPerStep": 8}}])");
  const ProgramResult result = run_program(compare(
      half_model(folder),
      "--optimizer sgd,lr=0.5 --report " + folder.file("report.json") + " --strategies " + strategies));
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the numbers differ from those of one processor by"));
  for (const nlohmann::json& strategy : training_strategies_of(folder.file("report.json"))) {
    const double difference = strategy["difference"];
    if (strategy["name"] == "flushed") {
      EXPECT_EQ(difference, 0);
    } else {
      EXPECT_GT(difference, 1e-3);
    }
  }
}

TEST(CompareTraining, TakesDataFromFiles) {
  const TemporaryFolder folder;
  const std::string model = folder.file("digits.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp batch=5 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const auto digits = [](const std::string& what) {
    return fmt::format("{}/models/data/digits-{}-ubyte", PODIUM_SOURCE_DIR, what);
  };
  const std::string command = fmt::format(
      "podium compare {} --train --loss-tensor loss --optimizer sgd --ipus 1 --quiet --input image={} ",
      model, digits("images-idx3"));
  const ProgramResult result = run_program(command + "--target label=" + digits("labels-idx1"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("every strategy gave the numbers of one processor"));
  const ProgramResult wrong = run_program(command + "--target label=" + digits("train-labels-idx1"));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("1000 samples found, 100 needed"));
}

TEST(CompareTraining, RefusesWhatMakesNoStep) {
  const TemporaryFolder folder;
  const std::string model = half_model(folder);
  const auto expect_usage = [](const std::string& command, const std::string& text) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 2) << command;
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  expect_usage("podium compare " + model + " --optimizer sgd", "--optimizer found, --train needed with it");
  expect_usage(compare(model, ""), "--optimizer needed");
  expect_usage("podium compare " + model + " --train --optimizer sgd", "no loss found, --loss-tensor NAME");
  const ProgramResult result = run_program(compare(model, "--optimizer sgd --micro-batch 3"));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, StartsWith("error: " + model));
}

}  // namespace
}  // namespace podium::cli
