// `podium info --device` and --options-supported: machines and options as a person sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

TEST(InfoDevice, PrintsAFileThatPodiumReads) {
  const ProgramResult printed = run_program("podium info --device bow-pod64");
  ASSERT_EQ(printed.status, 0) << printed.err;
  const TemporaryFolder folder;
  const ProgramResult again = run_program("podium info --device " + folder.write("bow.json", printed.out));
  EXPECT_EQ(again.out, printed.out);
  EXPECT_EQ(printed.out, device::to_json(*device::find_preset("bow-pod64")));
}

TEST(InfoDevice, ExplainsFieldsWhenAsked) {
  const ProgramResult result = run_program("podium info --device c600 --verbose");
  EXPECT_THAT(result.out, HasSubstr("clockHertz                    Hz"));
}

TEST(InfoDevice, NamesFileFieldAndWhatIsNeeded) {
  const TemporaryFolder folder;
  const std::string file = folder.write("mine.json", R"({"base": "ipu-m2000", "tiles": -4})");
  const ProgramResult result = run_program("podium info --device " + file);
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "error: " + file + ": field 'tiles' is -4, a number from 1 to 1048576 needed\n");
}

TEST(InfoDevice, NamesTheNearestPreset) {
  const ProgramResult result = run_program("podium info --device ipu-pod15");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              HasSubstr("device 'ipu-pod15' is neither a preset (nearest: 'ipu-pod16') nor a readable file"));
}

TEST(InfoOptions, ListsEveryOptionWithItsFlagAndWhatChangesNothingWithItsReason) {
  const ProgramResult result = run_program("podium info --options-supported");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::ContainsRegex("executionPhaseSettings.phases +0 +--phases\n"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("syncPattern +\"Full\" +--sync\n"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("logDir +debugging of PopART\n"));
}

}  // namespace
}  // namespace podium::cli
