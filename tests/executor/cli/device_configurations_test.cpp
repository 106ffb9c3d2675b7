// `podium info --configuration`: what devices hold, of a model with the annotations of ONNX's IR version 11.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/device_configurations.h"
#include "tests/support/run_program.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;

TEST(DeviceConfigurations, InfoShowsTheShardsOfEachDevice) {
  const TemporaryFolder folder;
  const std::string model = folder.write("cut.onnx", cut_model(1));
  const ProgramResult result =
      run_program("podium info " + model + " --configuration tp --report " + folder.file("info.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("configuration  tp: 2 devices, 1 node, 1 stage\n"));
  EXPECT_THAT(result.out, HasSubstr("node  stage  tensor  devices  holds     bytes\n"
                                    "neg       0  x             0  [:, 0:3]  48 B\n"
                                    "neg       0  x             1  [:, 3:5]  32 B\n"));
  const auto json = nlohmann::json::parse(std::ifstream(folder.file("info.json")));
  EXPECT_EQ(json["configurations"][0]["devices"], 2);
  EXPECT_EQ(json["shards"][1]["holds"], "[:, 3:5]");
  EXPECT_EQ(json["shards"][1]["bytes"], 32);
}

// The model has devices 0 and 1 in stage 0, 2 and 3 in stage 1, and a node in stage 2 that names none.
TEST(DeviceConfigurations, AStageWithoutDevicesBesideStagesWithTheirOwnIsRefused) {
  const ProgramResult result =
      run_program("podium run " + std::string(PODIUM_SOURCE_DIR) +
                  "/tests/fuzz/corpus/devices/stage_without_devices.onnx --configuration four --quiet");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              HasSubstr("device configuration 'four': stage 0 has 2 devices of its own and stage 2 has 0, as "
                        "many for each stage needed\n"));
}

TEST(DeviceConfigurations, InfoRefusesAnAxisThatTheTensorHasNotAndAnUnknownName) {
  const TemporaryFolder folder;
  const ProgramResult axis =
      run_program("podium info " + folder.write("axis.onnx", cut_model(3)) + " --configuration tp");
  EXPECT_EQ(axis.status, 1);
  EXPECT_THAT(axis.err,
              HasSubstr("node 'neg': tensor 'x': axis 3 of a tensor of rank 2 found, -2 to 1 needed"));
  const ProgramResult name =
      run_program("podium info " + folder.write("name.onnx", cut_model(1)) + " --configuration dp");
  EXPECT_EQ(name.status, 1);
  EXPECT_THAT(name.err, HasSubstr("no device configuration 'dp' found, one of 'tp' needed"));
}

// At once, and not after the graph has been cut over all of them.
TEST(DeviceConfigurations, MoreDevicesThanTheMachineHasAreRefused) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program("podium run " + folder.write("many.onnx", cut_model(1, 65'536)) + " --configuration tp");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("4 processors found (device 'ipu-m2000'), 65536 needed"));
}

TEST(DeviceConfigurations, ARunSaysThatItDoesNotActOnThem) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium run " + folder.write("cut.onnx", cut_model(1)));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("note: device configuration 'tp': no effect without --configuration tp"));
}

}  // namespace
}  // namespace podium::testing
