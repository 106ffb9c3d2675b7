#include "executor/lower/program/stow_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/numeric/engine.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

using executor::Program;
using testing::Placed;

// Made on processor 0, used there again when processor 1 has computed.
Placed there_and_back() {
  return testing::placed("g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) y = Mul(a, b) }", {0, 1, 0});
}

Program lowered_with(const ir::TensorLocation& location, Warnings& warnings,
                     Placed model = there_and_back()) {
  return lower(model.graph, model.placement,
               {.virtual_graph_mode = VirtualGraphMode::Manual,
                .location_overrides = {{"a", location}},
                .io_tiles = 32},
               &warnings);
}

TEST(StowActivations, StoresBehindTheirMakerAndLoadsBeforeEachReader) {
  Warnings warnings;
  EXPECT_EQ(testing::steps_of(lowered_with({.storage = ir::Storage::OffChip}, warnings)),
            "load x@0 from host\n"
            "compute part0 on ipu 0: (x@0) -> (a@0)\n"
            "store a@0 -> a@0.streaming\n"
            "load a@0.streaming -> a__l0@0\n"
            "copy a__l0@0 -> a@1\n"
            "compute part1 on ipu 1: (a@1) -> (b@1)\n"
            "copy b@1 -> b@0\n"
            "load a@0.streaming -> a__l0@0\n"
            "compute part2 on ipu 0: (a__l0@0, b@0) -> (y@0)\n"
            "store y@0 to host\n");
  EXPECT_THAT(warnings, ::testing::IsEmpty());
}

TEST(StowActivations, GoOverTheIoTilesOrWaitThere) {
  Warnings warnings;
  const std::string over = testing::steps_of(
      lowered_with({.storage = ir::Storage::OffChip, .load_tiles = ir::TileSet::IO}, warnings));
  EXPECT_THAT(over, ::testing::HasSubstr("tiles a@0 -> a__l0@0.io\nstore a__l0@0.io -> a@0.streaming\n"));
  EXPECT_THAT(over, ::testing::HasSubstr("load a@0.streaming -> a__l0@0.io\ntiles a__l0@0.io -> a__l0@0\n"));
  const std::string there = testing::steps_of(lowered_with({.storage_tiles = ir::TileSet::IO}, warnings));
  EXPECT_THAT(there, ::testing::HasSubstr("tiles a@0 -> a@0.io\n"));
  EXPECT_THAT(there, ::testing::HasSubstr("tiles a@0.io -> a__l0@0\ncompute part2"));
}

TEST(StowActivations, GiveTheSameNumbers) {
  const std::vector<ir::Datum> inputs{testing::tensor<float>({2}, {3, 5})};
  Warnings warnings;
  const Placed model = there_and_back();
  numeric::Engine whole(lower(model.graph, model.placement, {}), {});
  const auto expected = testing::values<float>(whole.run(inputs)[0]);
  for (const ir::TensorLocation& location :
       {ir::TensorLocation{.storage = ir::Storage::OffChip}, {.storage_tiles = ir::TileSet::IO}}) {
    numeric::Engine engine(lowered_with(location, warnings), {});
    EXPECT_EQ(testing::values<float>(engine.run(inputs)[0]), expected);
  }
}

// In a cycle of the pipeline one exchange sends processor 1 the newest of what was made and processor 2 one
// of an earlier micro-batch.
TEST(StowActivations, GiveAnExchangeTheSlotsOfSeveralMicroBatches) {
  Placed model = testing::placed(
      "g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) c = Mul(a, b) y = Add(a, c) }", {0, 1, 2, 0});
  const std::vector<ir::Datum> inputs{
      testing::tensor<float>({6, 2}, {3, 5, 1, 2, -1, 4, 0.5F, 7, 6, -2, 2, 9})};
  numeric::Engine whole(lower(model.graph, model.placement, {.batches_per_step = 6}), {});
  const auto expected = testing::values<float>(whole.run(inputs)[0]);
  for (int stage = 0; stage < 4; ++stage) model.placement.ops[stage].stage = stage;
  model.placement.stages = 4;
  Warnings warnings;
  for (const ir::TensorLocation& location :
       {ir::TensorLocation{.storage = ir::Storage::OffChip}, {.storage_tiles = ir::TileSet::IO}}) {
    const Program program = lower(model.graph, model.placement,
                                  {.virtual_graph_mode = VirtualGraphMode::Manual,
                                   .pipelining = true,
                                   .batches_per_step = 6,
                                   .location_overrides = {{"a", location}},
                                   .io_tiles = 32},
                                  &warnings);
    numeric::Engine engine(program, {});
    EXPECT_EQ(testing::values<float>(engine.run(inputs)[0]), expected);
  }
}

TEST(StowActivations, SayWhereNothingCanWait) {
  Warnings warnings;
  lowered_with({.storage = ir::Storage::OffChip}, warnings,
               testing::placed("g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }", {0, 0}));
  EXPECT_THAT(warnings, ::testing::ElementsAre(
                            "'a' cannot wait off the compute tiles: no effect, no block reads what another "
                            "one has left"));
}

}  // namespace
}  // namespace podium::lower
