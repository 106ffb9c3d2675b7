#include "executor/report/profile.h"

#include <gmock/gmock.h>

namespace podium::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Profile sample_profile() {
  return {.model = "m.onnx",
          .strategy = "one processor",
          .device = "ipu-m2000",
          .step_seconds = 5e-3,
          .ops = {{.name = "/enc/l0/MatMul",
                   .type = "MatMul",
                   .layer = "enc/l0",
                   .block = "all",
                   .runs = 2,
                   .seconds = 1e-3,
                   .flop = 2e6,
                   .bytes = 1e6,
                   .ideal_seconds = 5e-4},
                  {.name = "/enc/l1/MatMul",
                   .type = "MatMul+Add",
                   .layer = "enc/l1",
                   .block = "all",
                   .runs = 2,
                   .seconds = 3e-3,
                   .flop = 4e6,
                   .bytes = 1e6,
                   .ideal_seconds = 3e-3},
                  {.name = "grad",
                   .type = "MatMul",
                   .layer = "",
                   .block = "all",
                   .pass = Pass::Backward,
                   .runs = 1,
                   .seconds = 0.5e-3}}};
}

TEST(Profile, TakesLayersFromNames) {
  EXPECT_EQ(layer_of("/encoder/layer.0/MatMul"), "encoder/layer.0");
  EXPECT_EQ(layer_of("encoder.layer.0.weight"), "encoder.layer.0");
  EXPECT_EQ(layer_of("MatMul_12"), "");
  EXPECT_EQ(layer_of("/MatMul"), "");
}

TEST(Profile, ListsOpsByTimeWithTheirPlaceOnTheRoofline) {
  const std::string text = profile_tables(sample_profile(), {});
  EXPECT_THAT(text, ::testing::StartsWith("op "));
  EXPECT_THAT(
      text,
      ::testing::ContainsRegex(
          "\n/enc/l1/MatMul +MatMul.Add +0 +all +forward +2 +3.00 ms +66.7% +4.00 M +976.56 KiB +4.0 +100.0%\n"
          "/enc/l0/MatMul +MatMul +0 +all +forward +2 +1.00 ms +22.2% +2.00 M +976.56 KiB +2.0 +50.0%\n"
          "grad +MatMul +0 +all +backward +1 +500.0 us +11.1% "));
}

TEST(Profile, HasAColumnOfStagesInAPipelineAlone) {
  Profile profile = sample_profile();
  EXPECT_THAT(profile_tables(profile, {}), Not(HasSubstr("stage")));
  EXPECT_FALSE(profile_json(profile)["ops"][2].contains("stage"));
  profile.ops[2].stage = 3;
  EXPECT_THAT(profile_tables(profile, {}), ::testing::ContainsRegex("^op +type +ipu +stage +block"));
  EXPECT_THAT(profile_tables(profile, {}), ::testing::ContainsRegex("\ngrad +MatMul +0 +3 +all +backward"));
  EXPECT_EQ(profile_json(profile)["ops"][2]["stage"], 3);
}

TEST(Profile, SumsAreTheSameInEveryTable) {
  const std::string text = profile_tables(sample_profile(), {});
  EXPECT_THAT(text,
              AllOf(HasSubstr("enc/l1"), HasSubstr("(no layer)"), HasSubstr("ipu 0, forward"),
                    HasSubstr("ipu 0, backward"), HasSubstr("4.50 ms of computing in a step of 5.00 ms")));
}

TEST(Profile, TellsThePassesOfEachLayerOfTraining) {
  EXPECT_THAT(profile_tables(sample_profile(), {}), HasSubstr("\nlayer       forward  backward  update\n"
                                                              "enc/l1      3.00 ms\n"
                                                              "enc/l0      1.00 ms\n"
                                                              "(no layer)           500.0 us\n"));
  Profile inference = sample_profile();
  inference.ops.pop_back();
  EXPECT_THAT(profile_tables(inference, {}), Not(HasSubstr("backward")));
}

TEST(Profile, SaysWhatTheRowsThatAreLeftOutTake) {
  const std::string text = profile_tables(sample_profile(), {.rows = 1});
  EXPECT_THAT(text, AllOf(HasSubstr("and 2 more"), Not(HasSubstr("grad"))));
}

TEST(Profile, OfNothingHasNoEmptyTables) {
  const Profile nothing{.model = "m", .strategy = "one processor", .device = "ipu", .step_seconds = 1e-3};
  EXPECT_EQ(
      profile_tables(nothing, {}),
      "no ops to show\n\n0.0 us of computing in a step of 1.00 ms, all processors of a replica together (one "
      "processor, ipu)\n");
}

TEST(Profile, IsSortedAsAsked) {
  const std::string text = profile_tables(sample_profile(), {.order = ProfileOrder::Name});
  EXPECT_LT(text.find("/enc/l0"), text.find("/enc/l1"));
  EXPECT_LT(text.find("/enc/l1"), text.find("grad"));
}

TEST(Profile, GivesMachinesEveryFigure) {
  const nlohmann::json json = profile_json(sample_profile());
  EXPECT_EQ(json["ops"].size(), 3);
  EXPECT_EQ(json["ops"][1]["layer"], "enc/l1");
  EXPECT_EQ(json["ops"][2]["pass"], "backward");
  EXPECT_EQ(json["ops"][0]["seconds"], 1e-3);
}

}  // namespace
}  // namespace podium::report
