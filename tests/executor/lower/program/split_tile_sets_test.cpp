#include "executor/lower/program/split_tile_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/numeric/engine.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using executor::Program;
using ::testing::HasSubstr;
using testing::Placed;

// The second of three ops is on the IO tiles.
Placed three_ops(std::string_view annotation = "<__tile_set = 1>") {
  return testing::placed(
      fmt::format("g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ a = Neg(x) b = Mul "
                  "{} (a, w) y = Add(a, b) }}",
                  annotation),
      {0, 0, 0});
}

Program lowered_with_io_tiles(const Placed& model) {
  return lower(model.graph, model.placement,
               {.virtual_graph_mode = VirtualGraphMode::Manual, .io_tiles = 32});
}

TEST(SplitTileSets, CopiesWhatCrossesBetweenTheSets) {
  EXPECT_EQ(testing::steps_of(lowered_with_io_tiles(three_ops())),
            "load x@0 from host\n"
            "compute all.0 on ipu 0: (x@0) -> (a@0)\n"
            "tiles a@0 -> a@0.io\n"
            "compute all.1 on ipu 0: (a@0.io) -> (b@0.io)\n"
            "tiles b@0.io -> b@0\n"
            "compute all.2 on ipu 0: (a@0, b@0) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(SplitTileSets, PutsConstantsWhereTheirReadersAre) {
  const std::string text = print(lowered_with_io_tiles(three_ops()));
  EXPECT_THAT(text, HasSubstr("buffer w: 1 x float[2] on ipu 0 io\n"));
  EXPECT_THAT(text, HasSubstr("block all.1 on ipu 0 IO tiles: 1 ops\n"));
}

TEST(SplitTileSets, GivesTheSameNumbers) {
  const std::vector<ir::Datum> inputs{testing::tensor<float>({2}, {3, 5})};
  numeric::Engine engine(lowered_with_io_tiles(three_ops()), {});
  EXPECT_THAT(testing::values<float>(engine.run(inputs)[0]), ::testing::ElementsAre(-6, -15));
}

TEST(SplitTileSets, LeavesAProgramWithoutIoTilesAndSaysSo) {
  Warnings warnings;
  const Placed model = three_ops();
  const Program program = lower(model.graph, model.placement, {}, &warnings);
  EXPECT_EQ(testing::steps_of(program), testing::steps_of(lowered_with_io_tiles(three_ops(""))));
  EXPECT_THAT(warnings,
              ::testing::ElementsAre("__tile_set IO of 1 op: no effect, there are no IO tiles (numIOTiles)"));
}

}  // namespace
}  // namespace podium::lower
