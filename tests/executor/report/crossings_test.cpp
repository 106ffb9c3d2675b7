#include "executor/report/crossings.h"

#include <gmock/gmock.h>

namespace podium::report {
namespace {

TEST(Crossings, AreListedByTheirBytes) {
  EXPECT_EQ(
      crossing_table({{0, 1, "mask", 8, 1024}, {1, 2, "hidden", 8, 8 << 20}}, device::ProcessorKind::Ipu, 0),
      "from   to     what crosses  times  bytes\n"
      "ipu 1  ipu 2  hidden            8  8.00 MiB\n"
      "ipu 0  ipu 1  mask              8  1.00 KiB\n");
  EXPECT_EQ(crossing_table({}, device::ProcessorKind::Ipu, 0), "");
}

TEST(Crossings, BeyondSixteenAreSummedUp) {
  EXPECT_THAT(crossing_table(std::vector<Crossing>(18, {0, 1, "x", 1, 1024}), device::ProcessorKind::Ipu, 0),
              ::testing::ContainsRegex("and 2 more +2.00 KiB\n$"));
}

TEST(Crossings, AreThereForMachines) {
  EXPECT_EQ(to_json(std::vector<Crossing>{{0, 1, "x", 2, 64}}),
            nlohmann::json::parse(R"([{"from": 0, "to": 1, "name": "x", "times": 2, "bytes": 64.0}])"));
}

}  // namespace
}  // namespace podium::report
