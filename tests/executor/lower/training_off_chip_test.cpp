// Variables in streaming memory: the same numbers, less memory on the chip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/lower/placed.h"
#include "tests/executor/lower/trained.h"
#include "tests/support/locations.h"

namespace podium::lower {
namespace {

using testing::on_one_processor;
using testing::on_two_processors;
using testing::put_off_chip;
using testing::steps_of;
using testing::steps_of_kind;
using testing::train;
using testing::TrainedState;
using testing::two_layers;

Strategy everything_off_chip() {
  Strategy strategy;
  put_off_chip(strategy.weights);
  put_off_chip(strategy.optimizer_state);
  put_off_chip(strategy.accumulators);
  return strategy;
}

TEST(TrainingOffChip, IsLoadedBeforeItsUseAndStoredAfterItsUpdate) {
  const ir::Training training = two_layers({.elements = 4, .accumulates = false});
  Strategy strategy;
  put_off_chip(strategy.optimizer_state);
  const executor::Program program = lower(training, on_one_processor(training), strategy);
  EXPECT_EQ(
      steps_of(program),
      "load rate@0 from host\n"
      "load x@0 from host\n"
      "compute part0 on ipu 0: (x@0, w1@0, w2@0) -> (y@0, dw2@0, dw1@0)\n"
      "store y@0 to host\n"
      "load m1@0.streaming -> m1__l0@0\n"
      "compute update1 on ipu 0: (m1__l0@0, dw1@0, rate@0, w1@0) -> (m1__l0@0, w1@0)\n"
      "store m1__l0@0 -> m1@0.streaming\n"
      "load m2@0.streaming -> m2__l0@0\n"
      "load v2@0.streaming -> v2__l0@0\n"
      "compute update2 on ipu 0: (m2__l0@0, dw2@0, v2__l0@0, rate@0, w2@0) -> (m2__l0@0, v2__l0@0, w2@0)\n"
      "store m2__l0@0 -> m2@0.streaming\n"
      "store v2__l0@0 -> v2@0.streaming\n");
}

TEST(TrainingOffChip, WhatNothingUpdatesIsNotStored) {
  const ir::Training training = two_layers({});
  Strategy strategy;
  strategy.accumulation_factor = 2;
  put_off_chip(strategy.weights);
  const executor::Program program = lower(training, on_one_processor(training), strategy);
  // Each weight: in every micro-batch and for the update.
  EXPECT_EQ(steps_of_kind<executor::LoadRemote>(program.steps).size(), 4U);
  EXPECT_EQ(steps_of_kind<executor::StoreRemote>(program.steps).size(), 2U);
}

TEST(TrainingOffChip, AccumulatorsAreStoredAfterEveryMicroBatch) {
  const ir::Training training = two_layers({});
  Strategy strategy;
  strategy.accumulation_factor = 3;
  put_off_chip(strategy.accumulators);
  const executor::Program program = lower(training, on_one_processor(training), strategy);
  const auto* cycles = std::get_if<executor::Repeat>(&program.steps[1].action);
  ASSERT_NE(cycles, nullptr);
  EXPECT_EQ(steps_of_kind<executor::LoadRemote>(cycles->body).size(), 2U);
  EXPECT_EQ(steps_of_kind<executor::StoreRemote>(cycles->body).size(), 2U);
}

// Variables are the same numbers, wherever they live, in every strategy.
TEST(TrainingOffChip, TrainsAsOnTheChip) {
  for (const int accumulation : {1, 4}) {
    const ir::Training training = two_layers({.accumulates = accumulation > 1});
    for (const int processors : {1, 2}) {
      const ir::Placement placement =
          processors == 1 ? on_one_processor(training) : on_two_processors(training);
      for (const bool pipelining : {false, true}) {
        for (const int replicas : {1, 2}) {
          SCOPED_TRACE(::testing::Message()
                       << accumulation << " micro-batches, " << processors << " processors, " << replicas
                       << " replicas, pipelining " << pipelining);
          if (pipelining && processors == 1) continue;
          Strategy strategy;
          strategy.pipelining = pipelining;
          strategy.replicas = replicas;
          strategy.batches_per_step = accumulation > 1 ? 2 : 5;
          strategy.accumulation_factor = accumulation;
          const TrainedState on_chip = train(training, placement, strategy);
          Strategy off_chip = everything_off_chip();
          off_chip.pipelining = pipelining;
          off_chip.replicas = replicas;
          off_chip.batches_per_step = strategy.batches_per_step;
          off_chip.accumulation_factor = accumulation;
          EXPECT_EQ(train(training, placement, off_chip), on_chip);
          off_chip.io_tiles = 32;
          for (LocationSettings* settings :
               {&off_chip.weights, &off_chip.optimizer_state, &off_chip.accumulators}) {
            settings->location.load_tiles = ir::TileSet::IO;
          }
          EXPECT_EQ(train(training, placement, off_chip), on_chip);
        }
      }
    }
  }
}

// Joined transfers bring the same numbers in as much memory, as one step of both processors.
TEST(TrainingOffChip, TransfersOfTwoProcessorsAreOneStepWhereTheyMayBe) {
  const ir::Training training = two_layers({.accumulates = true});
  const ir::Placement placement = on_two_processors(training);
  Strategy joined = everything_off_chip();
  joined.accumulation_factor = 4;
  Strategy apart = joined;
  apart.joins_remote_transfers = false;
  const TrainedState of_joined = train(training, placement, joined);
  const TrainedState of_apart = train(training, placement, apart);
  EXPECT_EQ(of_joined, of_apart);
  EXPECT_EQ(of_joined.peaks, of_apart.peaks);
  const auto loads = [&](const Strategy& strategy) {
    return steps_of_kind<executor::LoadRemote>(lower(training, placement, strategy).steps).size();
  };
  EXPECT_LT(loads(joined), loads(apart));
  joined.exchanges = Exchanges::Apart;
  EXPECT_EQ(loads(joined), loads(apart));
}

TEST(TrainingOffChip, FreesTheChipWhileItIsNotUsed) {
  const ir::Training training = two_layers({.elements = 1000});
  Strategy strategy;
  strategy.accumulation_factor = 2;
  const ir::Placement placement = on_one_processor(training);
  const std::int64_t on_chip = train(training, placement, strategy).peaks[0];
  put_off_chip(strategy.optimizer_state);
  EXPECT_LT(train(training, placement, strategy).peaks[0], on_chip);
}

}  // namespace
}  // namespace podium::lower
