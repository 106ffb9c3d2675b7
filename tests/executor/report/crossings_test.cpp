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
  std::vector<Crossing> crossings;
  for (int i = 0; i < 18; ++i) crossings.push_back({0, 1, fmt::format("x{}", i), 1, 1024});
  EXPECT_THAT(crossing_table(crossings, device::ProcessorKind::Ipu, 0),
              ::testing::ContainsRegex("and 2 more +2.00 KiB\n$"));
}

TEST(Crossings, OfATensorAreOneRowWhereThereAreMany) {
  std::vector<Crossing> crossings;
  for (int i = 0; i < 8; ++i) crossings.push_back({i, (i + 1) % 8, "reduced", 4, 1024});
  for (int i = 0; i < 8; ++i) crossings.push_back({i, i + 8, "sent", 4, 512});
  crossings.push_back({3, 20, "sent", 4, 512});
  EXPECT_EQ(crossing_table(crossings, device::ProcessorKind::Gpu, 0),
            "from     to             what crosses  times  bytes\n"
            "gpu 0-7  gpu 0-7        reduced           4  8.00 KiB\n"
            "gpu 0-7  9 of gpu 8-20  sent              4  4.50 KiB\n");
}

TEST(Crossings, AreThereForMachines) {
  EXPECT_EQ(to_json(std::vector<Crossing>{{0, 1, "x", 2, 64}}),
            nlohmann::json::parse(R"([{"from": 0, "to": 1, "name": "x", "times": 2, "bytes": 64.0}])"));
}

}  // namespace
}  // namespace podium::report
