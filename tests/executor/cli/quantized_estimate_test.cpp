// What quantised networks take of a machine's time and memory.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ir/files.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

nlohmann::json estimated(const std::string& parameters, const std::string& device) {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.onnx");
  EXPECT_EQ(
      run_program("podium-models product rows=512 inner=1024 columns=2048 " + parameters + " -o " + model)
          .status,
      0);
  const ProgramResult result = run_program("podium run --estimate --quiet --device " + device + " --report " +
                                           folder.file("r.json") + " " + model);
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::json::parse(ir::read_small_file(folder.file("r.json")));
}

TEST(QuantizedEstimate, HoldsWeightsAsTheyAreStored) {
  const auto weights = [](const nlohmann::json& report) {
    return report["processors"][0]["memory"]["weights"].get<std::int64_t>();
  };
  EXPECT_EQ(weights(estimated("operands=float", "a100-80")), 4 * 1024 * 2048);
  EXPECT_NEAR(static_cast<double>(weights(estimated("operands=byte", "a100-80"))), 1024 * 2048, 64);
}

TEST(QuantizedEstimate, TakesTheTimeOfBytesOnUnitsThatMultiplyThem) {
  const auto seconds = [](const char* parameters, const char* device) {
    return estimated(parameters, device)["seconds"].get<double>();
  };
  EXPECT_LT(seconds("operands=byte", "a100-80"), seconds("operands=float", "a100-80"));
  EXPECT_LT(seconds("operands=byte", "h100"), seconds("operands=float", "h100"));
}

}  // namespace
}  // namespace podium::cli
