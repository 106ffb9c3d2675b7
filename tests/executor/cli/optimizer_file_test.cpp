#include "executor/cli/optimizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ir::OptimizerValue;
using ir::OptimizerValues;
using ::testing::HasSubstr;

ir::Optimizer read_optimizer_text(const std::string& text) {
  const testing::TemporaryFolder folder;
  return read_optimizer_file(folder.write("o.json", text));
}

std::string refusal(const std::string& text) {
  const std::string what = testing::refusal([&] { read_optimizer_text(text); });
  const std::size_t name = what.find("o.json");
  return name == std::string::npos ? what : what.substr(name);
}

TEST(OptimizerFile, ReadsPopartsNames) {
  const ir::Optimizer found = read_optimizer_text(R"({
    "optimizer": "adamw,lr=0.5,beta1=0.8", "defaultLearningRate": [0.25, false], "defaultEps": 1e-5,
    "lossScaling": 128,
    "specific": {"*bias": {"weightDecay": 0}, "w": {"weightDecay": [0.1, false], "beta2": 0.9}},
    "clipNormSettings": [{"weightIds": ["w", "*bias"], "maxNorm": 2}, {"maxNorm": 3}]})");
  EXPECT_EQ(name_of(found), "Adam");
  EXPECT_EQ(found.decay_mode, ir::WeightDecayMode::Decay);
  EXPECT_EQ(found.defaults.at("learningRate"), (OptimizerValue{0.25, false}));
  EXPECT_EQ(found.defaults.at("beta1"), (OptimizerValue{0.8, true}));
  EXPECT_EQ(found.defaults.at("eps"), (OptimizerValue{1e-5, true}));
  EXPECT_EQ(found.loss_scaling, (OptimizerValue{128, true}));
  const std::map<std::string, OptimizerValues> specific{
      {"*bias", {{"weightDecay", {0}}}}, {"w", {{"weightDecay", {0.1, false}}, {"beta2", {0.9}}}}};
  EXPECT_EQ(found.specific, specific);
  EXPECT_EQ(found.clip_norms, (std::vector<ir::ClipNorm>{{2, {"w", "*bias"}}, {3, {}}}));
}

TEST(OptimizerFile, SaysWhereSomethingIsWrong) {
  EXPECT_THAT(refusal("[]"), HasSubstr("o.json: [] found, an object needed"));
  EXPECT_THAT(refusal("{"), HasSubstr("o.json: line 1"));
  EXPECT_EQ(refusal(R"({"lossScaling": 1e999})"),
            "o.json: number overflow parsing '1e999', a smaller number needed");
  EXPECT_THAT(refusal("{}"), HasSubstr("o.json: no 'optimizer' found"));
  EXPECT_THAT(refusal(R"({"optimizer": 3})"), HasSubstr("optimizer: 3 found, a text"));
  EXPECT_THAT(refusal(R"({"optimizer": "sdg"})"), HasSubstr("o.json: --optimizer: 'sdg' found"));
  const auto with = [](const std::string& more) { return refusal(R"({"optimizer": "sgd", )" + more + "}"); };
  EXPECT_EQ(with(R"("defaultMomentun": 1)"),
            "o.json: unknown option 'defaultMomentun', the nearest is 'defaultMomentum'");
  EXPECT_EQ(with(R"("defaultMomentum": "1")"),
            "o.json: defaultMomentum: \"1\" found, a number, or [number, true where it is constant] needed");
  EXPECT_EQ(with(R"("specific": {"w": {"beta1": 1}})"),
            "o.json: specific.w: unknown option 'beta1', the nearest is 'momentum'");
  EXPECT_EQ(with(R"("specific": {"w": 1})"), "o.json: specific.w: 1 found, an object needed");
  EXPECT_EQ(with(R"("clipNormSettings": [{"weightIds": ["w"]}])"),
            "o.json: clipNormSettings.[]: {\"weightIds\":[\"w\"]} found, an object with a maxNorm needed");
  EXPECT_EQ(with(R"("clipNormSettings": [{"weightIds": "w", "maxNorm": 1}])"),
            "o.json: clipNormSettings.[].weightIds: \"w\" found, a list of names of weights needed");
}

}  // namespace
}  // namespace podium::cli
