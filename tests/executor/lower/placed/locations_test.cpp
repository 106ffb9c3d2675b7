#include "executor/lower/placed/locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ir::TensorLocation kOffChip{.storage = ir::Storage::OffChip};
constexpr ir::TensorLocation kOffChipSharded{.storage = ir::Storage::OffChip, .sharded = true};

// Ten elements off chip and sharded over two replicas, with these thresholds.
ir::TensorLocation location_of_ten(TensorClass kind, std::int64_t min_off_chip, std::int64_t min_sharded) {
  Strategy strategy{.replicas = 2};
  const LocationSettings settings{kOffChipSharded, min_off_chip, min_sharded};
  strategy.weights = strategy.activations = strategy.optimizer_state = strategy.accumulators = settings;
  std::vector<std::string> warnings;
  return determine_location({.name = "t", .kind = kind, .elements = 10}, strategy, warnings);
}

struct Row {
  TensorClass kind;
  std::int64_t min_off_chip;
  std::int64_t min_sharded;
  bool off_chip;
  bool sharded;
};

TEST(Locations, DependOnClassAndThresholds) {
  constexpr Row kRows[] = {
      {TensorClass::Weight, 6, 6, true, true},           {TensorClass::Weight, 6, 16, true, false},
      {TensorClass::Weight, 16, 6, false, true},         {TensorClass::Weight, 16, 16, false, false},
      {TensorClass::Weight, 10, 10, true, true},         {TensorClass::Weight, 11, 11, false, false},
      {TensorClass::OptimizerState, 6, 16, true, false}, {TensorClass::Accumulator, 6, 6, true, true},
      {TensorClass::Activation, 6, 6, true, false},      {TensorClass::Activation, 16, 6, false, false},
      {TensorClass::Constant, 6, 6, false, false},
  };
  for (const Row& row : kRows) {
    const ir::TensorLocation found = location_of_ten(row.kind, row.min_off_chip, row.min_sharded);
    EXPECT_EQ(found.storage == ir::Storage::OffChip, row.off_chip)
        << static_cast<int>(row.kind) << " " << row.min_off_chip;
    EXPECT_EQ(found.sharded, row.sharded) << static_cast<int>(row.kind) << " " << row.min_sharded;
  }
}

TEST(Locations, AnOverrideIsTakenAsItIs) {
  Strategy strategy{.location_overrides = {{"t", kOffChipSharded}}};
  std::vector<std::string> warnings;
  const LocatedTensor tensor{.name = "t", .kind = TensorClass::Weight, .elements = 1};
  EXPECT_EQ(determine_location(tensor, strategy, warnings), kOffChipSharded);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Locations, WhatTheOpAsksForWinsOverTheSettingsOfTheClass) {
  std::vector<std::string> warnings;
  LocatedTensor tensor{.name = "t", .elements = 10, .annotated = kOffChip};
  EXPECT_EQ(determine_location(tensor, {}, warnings), kOffChip);
  EXPECT_THAT(warnings, IsEmpty());
  tensor.recomputed = true;
  EXPECT_EQ(determine_location(tensor, {}, warnings), ir::TensorLocation{});
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("'t'")));
}

TEST(Locations, WithoutReplicasNothingIsShardedAndAWarningSaysSo) {
  Strategy strategy;
  strategy.weights = {kOffChipSharded, 2, 2};
  std::vector<std::string> warnings;
  EXPECT_EQ(
      determine_location({.name = "w", .kind = TensorClass::Weight, .elements = 10}, strategy, warnings),
      kOffChip);
  EXPECT_THAT(warnings,
              ElementsAre("tensor 'w' is asked to be sharded, which needs replicas: it stays whole"));
}

TEST(Locations, AVariableOfEachReplicaIsNotSharded) {
  Strategy strategy{.replicas = 2};
  strategy.weights = {kOffChipSharded, 2, 2};
  std::vector<std::string> warnings;
  const LocatedTensor tensor{.name = "w", .kind = TensorClass::Weight, .elements = 10, .per_replica = true};
  EXPECT_FALSE(determine_location(tensor, strategy, warnings).sharded);
}

TEST(Locations, WithoutIoTilesEverythingLoadsOnComputeTiles) {
  Strategy strategy;
  strategy.weights.location = kOffChip;
  strategy.weights.location.load_tiles = ir::TileSet::IO;
  std::vector<std::string> warnings;
  const LocatedTensor tensor{.name = "w", .kind = TensorClass::Weight, .elements = 10};
  EXPECT_EQ(determine_location(tensor, strategy, warnings).load_tiles, ir::TileSet::Compute);
  strategy.io_tiles = 32;
  EXPECT_EQ(determine_location(tensor, strategy, warnings).load_tiles, ir::TileSet::IO);
}

TEST(Locations, OnlyNumbersThatAnOpComputesWithAreWeights) {
  const ir::Graph graph = testing::graph_of(R"(g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y)
    <float[2] w = {1, 2}, int64[4] shape = {1, 1, 2, 2}, float[4] scales = {1, 1, 2, 2}> {
    a = Mul(x, w)
    b = Reshape(a, shape)
    y = Resize(b, , scales)
  })");
  Strategy strategy;
  strategy.weights.location = kOffChip;
  std::vector<std::string> warnings;
  std::vector<std::string> found;
  const auto locations = remote_weights(graph, {}, strategy, warnings);
  for (ir::ValueId id : locations.ids()) {
    if (locations[id]) found.push_back(graph[id].name);
  }
  EXPECT_THAT(found, ElementsAre("w"));
}

}  // namespace
}  // namespace podium::lower
