// The worked examples of models/examples: what they show must come out.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace podium::models {
namespace {

using nlohmann::json;
using testing::run_program;
using testing::TemporaryFolder;

// Reports by strategy of the example's strategies on a model of podium-models.
std::map<std::string, json> compare(const std::string& example, const std::string& model,
                                    const std::string& options) {
  const TemporaryFolder folder;
  const auto made = run_program(fmt::format("podium-models {} -o {}", model, folder.file("model.onnx")));
  EXPECT_EQ(made.status, 0) << made.err;
  const auto result = run_program(fmt::format(
      "podium compare {} --quiet --strategies {}/models/examples/{}/strategies.json {} --report {}",
      folder.file("model.onnx"), PODIUM_SOURCE_DIR, example, options, folder.file("report.json")));
  EXPECT_EQ(result.status, 0) << result.err;
  std::map<std::string, json> reports;
  const json report = json::parse(std::ifstream(folder.file("report.json")), nullptr, false);
  if (report.is_discarded()) return reports;
  for (const json& strategy : report["strategies"]) {
    EXPECT_FALSE(strategy.contains("refused")) << strategy;
    reports[strategy["name"]] = strategy;
  }
  return reports;
}

double seconds(const json& strategy) { return strategy["run"]["seconds"]; }
double rate(const json& strategy) { return strategy["run"]["samplesPerSecond"]; }

// The largest on-chip memory of a processor.
double memory(const json& strategy) {
  double most = 0;
  for (const json& processor : strategy["run"]["processors"]) {
    most = std::max(most, processor["memory"]["peakData"].get<double>());
  }
  return most;
}

double activity(const json& strategy, const char* kind) {
  double total = 0;
  for (const json& processor : strategy["run"]["processors"]) {
    total += processor["busySeconds"][kind].get<double>() + processor["ioSeconds"][kind].get<double>();
  }
  return total;
}

// Without the host's data, whose way to the device and back takes longer than all else.
const std::string kClockOnly = std::string("--estimate --options ") + PODIUM_SOURCE_DIR +
                               "/models/examples/phased-matmul/no-host-data.json";

std::map<std::string, json> phased_matmul(int size, const std::string& options = kClockOnly) {
  return compare("phased-matmul", fmt::format("phased-matmul type=float16 size={0} rows={0}", size), options);
}

TEST(Examples, OverlappedPhasesAreFasterThanSerialisedOnesAndShardingIsFasterStill) {
  auto strategies = phased_matmul(250);
  EXPECT_LT(seconds(strategies["phases, overlapped"]), 0.9 * seconds(strategies["phases, serialised"]));
  EXPECT_LT(seconds(strategies["sharded"]), seconds(strategies["phases, overlapped"]));
}

TEST(Examples, PhasesHoldOnlyTheWeightsInUseAndOnTheirWay) {
  auto strategies = phased_matmul(1000);
  EXPECT_LT(memory(strategies["phases, overlapped"]), memory(strategies["sharded"]));
}

TEST(Examples, OverlapSavesMostWhereLoadingAndComputingBalance) {
  auto small = phased_matmul(250);
  auto medium = phased_matmul(500);
  auto large = phased_matmul(1000);
  const auto loads_per_compute = [](std::map<std::string, json>& strategies) {
    return activity(strategies["phases, overlapped"], "remoteLoad") /
           activity(strategies["phases, overlapped"], "compute");
  };
  EXPECT_GT(loads_per_compute(small), 1.5);
  EXPECT_NEAR(loads_per_compute(medium), 1, 0.3);
  EXPECT_LT(loads_per_compute(large), 0.7);
  const auto saved = [](std::map<std::string, json>& strategies) {
    return 1 - seconds(strategies["phases, overlapped"]) / seconds(strategies["phases, serialised"]);
  };
  EXPECT_GT(saved(medium), saved(small));
  EXPECT_GT(saved(medium), saved(large));
}

// Below, launches and latencies are all there is.
TEST(Examples, TheLargerTheWeightsTheNearerPhasesComeToSharding) {
  double before = std::numeric_limits<double>::infinity();
  for (const int size : {250, 500, 1000, 1500}) {
    auto strategies = phased_matmul(size);
    const double cost = seconds(strategies["phases, overlapped"]) / seconds(strategies["sharded"]);
    EXPECT_LT(cost, before) << size;
    before = cost;
  }
}

TEST(Examples, PhasesGiveTheNumbersOfOneProcessor) {
  for (const auto& [name, strategy] : phased_matmul(250, "")) EXPECT_EQ(strategy["difference"], 0.0) << name;
}

TEST(Examples, APipelineIsFasterThanShardingTheMoreBatchesItHas) {
  auto strategies = compare("mnist-cnn", "mnist-cnn batch=64", "");
  EXPECT_GT(rate(strategies["pipelined, 8 batches"]), rate(strategies["pipelined, 4 batches"]));
  EXPECT_GT(rate(strategies["pipelined, 32 batches"]), rate(strategies["pipelined, 8 batches"]));
  EXPECT_GT(rate(strategies["pipelined, 32 batches"]), rate(strategies["sharded, 32 batches"]));
  for (const auto& [name, strategy] : strategies) EXPECT_EQ(strategy["difference"], 0.0) << name;
}

std::string shipped(const std::string& file) {
  return fmt::format("{}/models/data/{}", PODIUM_SOURCE_DIR, file);
}

TEST(Examples, AProgramOfItsOwnTrains) {
  const TemporaryFolder folder;
  const std::string model = folder.file("digits.onnx");
  const std::string saved = folder.file("trained.onnx");
  ASSERT_EQ(run_program("podium-models mnist-mlp batch=25 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const auto result =
      run_program(fmt::format("train-digits {} {} {} {}", model, shipped("digits-images-idx3-ubyte"),
                              shipped("digits-labels-idx1-ubyte"), saved));
  EXPECT_EQ(result.status, 0) << result.err;
  const auto loss = [&](const std::string& epoch) {
    const std::string before = epoch + ": loss ";
    const std::size_t at = result.out.find(before);
    return at == std::string::npos ? -1 : std::stod(result.out.substr(at + before.size()));
  };
  EXPECT_LT(loss("epoch 10"), loss("epoch 1") / 2) << result.out;
  EXPECT_EQ(run_program("podium run --quiet " + saved).status, 0);
}

TEST(Examples, ARemoteVariableHoldsInTheNextRunWhatOneHasStored) {
  const auto result = run_program("remote-variable");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("run 1: entries 1, 1, outputs 2, 2\n"
                                               "run 2: entries 2, 3, outputs 3, 4\n"));
}

// The training of tools/demo, on one processor and pipelined.
TEST(Examples, AThousandDigitsAreEnoughForNineOfTen) {
  const TemporaryFolder folder;
  const std::string model = folder.file("digits.onnx");
  ASSERT_EQ(run_program("podium-models mnist-cnn batch=10 pixels=byte loss=cross-entropy -o " + model).status,
            0);
  const auto last_epoch = [&](const std::string& strategy) {
    const auto result = run_program(fmt::format(
        "podium train {} --quiet --loss-tensor loss --optimizer adamw,lr=0.002 --epochs 5 --shuffle 1 "
        "--accumulate 10 "
        "--reduction mean --input image={} --target label={} --eval-input image={} --eval-target label={} {}",
        model, shipped("digits-train-images-idx3-ubyte"), shipped("digits-train-labels-idx1-ubyte"),
        shipped("digits-images-idx3-ubyte"), shipped("digits-labels-idx1-ubyte"), strategy));
    EXPECT_EQ(result.status, 0) << result.err;
    const std::string line = result.out.substr(result.out.rfind("epoch 5"));
    return line.substr(0, line.find("%", line.find("held-out")));
  };
  const std::string one = last_epoch("");
  EXPECT_GT(std::stod(one.substr(one.rfind(' '))), 90) << one;
  EXPECT_EQ(last_epoch("--virtual-graph-mode auto --ipus 4 --pipeline"), one);
}

}  // namespace
}  // namespace podium::models
