// Micro-batches in slices: the order of their steps, and their numbers.
#include "executor/lower/strategies/batch_serialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/numeric/engine.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/layered.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ::testing::ElementsAre;

const char* const kOneOp = "agraph (float[8, 2] x) => (float[8, 2] y) { y = Relu(x) }";

Strategy in_slices(int factor, IoMode mode = IoMode::Compute) {
  Strategy strategy;
  strategy.batch_serialization = {factor, mode};
  if (mode != IoMode::Compute) strategy.io_tiles = 32;
  return strategy;
}

std::string steps(const Strategy& strategy) {
  const Placed model = placed(kOneOp, {0});
  return steps_of(lower::lower(model.graph, model.placement, strategy));
}

TEST(BatchSerialise, RunsSlicesOneAfterTheOther) {
  EXPECT_EQ(steps(in_slices(4)),
            "repeat 4 times\n"
            "  load x@0 from host\n"
            "  compute all on ipu 0: (x@0) -> (y@0)\n"
            "  store y@0 to host\n");
}

TEST(BatchSerialise, OverTheIoTiles) {
  EXPECT_EQ(steps(in_slices(4, IoMode::Io)),
            "repeat 4 times\n"
            "  load x@0.io from host\n"
            "  tiles x@0.io -> x@0\n"
            "  compute all on ipu 0: (x@0) -> (y@0)\n"
            "  tiles y@0 -> y@0.io\n"
            "  store y@0.io to host\n");
}

TEST(BatchSerialise, OverlappedLoadsTheNextSliceBesideTheComputation) {
  EXPECT_EQ(steps(in_slices(4, IoMode::IoOverlapped)),
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "tiles y@0 -> y@0.io\n"
            "repeat 2 times\n"
            "  tiles x@0.io -> x@0\n"
            "  load x@0.io from host\n"
            "  store y@0.io to host\n"
            "  compute all on ipu 0: (x@0) -> (y@0)\n"
            "  tiles y@0 -> y@0.io\n"
            "tiles x@0.io -> x@0\n"
            "store y@0.io to host\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "tiles y@0 -> y@0.io\n"
            "store y@0.io to host\n");
}

TEST(BatchSerialise, RefusesWhatDoesNotSplitWithTheOptionAndTheOp) {
  const Placed model = placed("g (float[4, 2] x) => (float[4, 2] y) { y = Softmax <axis = 0> (x) }", {0});
  try {
    lower::lower(model.graph, model.placement, in_slices(2));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::StartsWith("batchSerializationSettings.factor 2: node 'y' (Softmax): mixes"));
  }
}

// On one processor, or sharded over `processors`, without phases.
TEST(BatchSerialise, GivesTheSameNumbersOnOneAndManyProcessors) {
  for (const Layered& model : {mlp(4, 8), cnn(4)}) {
    for (int factor : {2, 4}) {
      for (IoMode mode : {IoMode::Compute, IoMode::Io, IoMode::IoOverlapped}) {
        for (int batches : {1, 3}) {
          for (int replicas : {1, 2}) {
            Strategy strategy = in_slices(factor, mode);
            strategy.batches_per_step = batches;
            strategy.replicas = replicas;
            SCOPED_TRACE(::testing::Message() << "factor " << factor << ", mode " << static_cast<int>(mode)
                                              << ", batches " << batches << ", replicas " << replicas);
            expect_same_numbers(model, strategy, 1);
            expect_same_numbers(model, strategy, 3);
          }
        }
      }
    }
  }
}

Strategy phases_in_slices(const Layered& model, int stages, int factor, IoMode mode) {
  Strategy strategy = in_slices(factor, mode);
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.phases.phases = model.layers;
  strategy.phases.stages = stages;
  strategy.weights.location.storage = ir::Storage::OffChip;
  return strategy;
}

std::string phased_steps(IoMode mode, int factor) {
  Placed model = placed("g (float[8, 2] x) => (float[8, 2] y) { a = Relu(x)\n y = Neg(a) }", {0, 1});
  model.placement.phases = 2;
  model.placement.ops[1].phase = 1;
  Layered two_layers;
  two_layers.layers = 2;
  return steps_of(lower::lower(model.graph, model.placement, phases_in_slices(two_layers, 2, factor, mode)));
}

TEST(BatchSerialise, InPhasesLoopsInsideEachAndKeepsSlicesInStreamingMemoryBetweenThem) {
  EXPECT_EQ(phased_steps(IoMode::Compute, 4),
            "repeat 4 times\n"
            "  load x@0 from host\n"
            "  compute phase0 on ipu 0: (x@0) -> (a@0)\n"
            "  copy a@0 -> a@1\n"
            "  store a@1 -> slices0@1.streaming[0+1i]\n"
            "repeat 4 times\n"
            "  load slices0@1.streaming[0+1i] -> a@1\n"
            "  compute phase1 on ipu 1: (a@1) -> (y@1)\n"
            "  store y@1 to host\n");
}

TEST(BatchSerialise, InPhasesStoresTheSliceBeforeAndLoadsTheNextBesideTheComputation) {
  EXPECT_EQ(phased_steps(IoMode::IoOverlapped, 4),
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "compute phase0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1.io\n"
            "repeat 2 times\n"
            "  tiles x@0.io -> x@0\n"
            "  store a@1.io -> slices0@1.streaming[0+1i]\n"
            "  load x@0.io from host\n"
            "  compute phase0 on ipu 0: (x@0) -> (a@0)\n"
            "  copy a@0 -> a@1.io\n"
            "tiles x@0.io -> x@0\n"
            "store a@1.io -> slices0@1.streaming[2]\n"
            "compute phase0 on ipu 0: (x@0) -> (a@0)\n"
            "copy a@0 -> a@1.io\n"
            "store a@1.io -> slices0@1.streaming[3]\n"
            "load slices0@1.streaming[0] -> a@1.io\n"
            "tiles a@1.io -> a@1\n"
            "load slices0@1.streaming[1] -> a@1.io\n"
            "compute phase1 on ipu 1: (a@1) -> (y@1)\n"
            "tiles y@1 -> y@1.io\n"
            "repeat 2 times\n"
            "  tiles a@1.io -> a@1\n"
            "  store y@1.io to host\n"
            "  load slices0@1.streaming[2+1i] -> a@1.io\n"
            "  compute phase1 on ipu 1: (a@1) -> (y@1)\n"
            "  tiles y@1 -> y@1.io\n"
            "tiles a@1.io -> a@1\n"
            "store y@1.io to host\n"
            "compute phase1 on ipu 1: (a@1) -> (y@1)\n"
            "tiles y@1 -> y@1.io\n"
            "store y@1.io to host\n");
}

// The first layer's result waits for the last, every other for the next: three rows serve any number of
// layers.
TEST(BatchSerialise, InPhasesValuesOfOneTypeShareABufferWhoseRowsAreTakenAgain) {
  for (int layers : {4, 9}) {
    const Layered model = mlp(layers, 8);
    const Strategy strategy = phases_in_slices(model, 1, 4, IoMode::Compute);
    EXPECT_THAT(print(lower::lower(model.graph, model.in_phases(1), strategy)),
                ::testing::HasSubstr("buffer slices0: 12 x float[2,37] on ipu 0 streaming"));
  }
}

TEST(BatchSerialise, InPhasesGivesTheSameNumbers) {
  for (const Layered& model : {mlp(7, 8), cnn(4)}) {
    for (int stages : {1, 2}) {
      for (int factor : {2, 4}) {
        for (IoMode mode : {IoMode::Compute, IoMode::Io, IoMode::IoOverlapped}) {
          Strategy strategy = phases_in_slices(model, stages, factor, mode);
          SCOPED_TRACE(::testing::Message() << "stages " << stages << ", factor " << factor << ", mode "
                                            << static_cast<int>(mode));
          expect_same_numbers(model, strategy, stages);
          strategy.batches_per_step = 3;
          strategy.replicas = 2;
          strategy.weights.location.sharded = true;
          strategy.weights.min_elements_for_sharding = 2;
          expect_same_numbers(model, strategy, stages);
          expect_same_numbers(model, strategy, 2 * stages);  // several processors a parity
        }
      }
    }
  }
}

TEST(BatchSerialise, OverlappedInPhasesWithoutIoTilesGivesTheSameNumbers) {
  const Layered model = mlp(4, 8);
  Strategy strategy = phases_in_slices(model, 2, 4, IoMode::IoOverlapped);
  strategy.io_tiles = 0;
  expect_same_numbers(model, strategy, 2);
}

TEST(BatchSerialise, SlicesAlongTheSecondAxisOfARecurrentOp) {
  const ir::Graph graph = graph_of(R"(g (float[3, 4, 2] x) => (float[3, 1, 4, 1] y)
    <float[1, 4, 2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, float[1, 4, 1] r = {0.1, 0.2, 0.3, 0.4}> {
    y = LSTM <hidden_size = 1> (x, w, r)
  })");
  ir::Placement placement;
  placement.ops.resize(1);
  Strategy strategy = in_slices(2);
  strategy.batches_per_step = 2;
  expect_near(run_on_random(lower::lower(graph, placement, strategy)), run_on_one_processor(graph, strategy));
}

std::vector<float> anchored(bool in_phases, AnchorReturn returns, int every = 1) {
  Placed model = placed("g (float[2] x) => (float[2] y) { a = Identity(x)\n y = Identity(a) }", {0, 0});
  model.placement.phases = 2;
  model.placement.ops[1].phase = 1;
  Strategy strategy = in_slices(2);
  if (in_phases) strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.batches_per_step = 4;
  strategy.anchors["y"].returns = returns;
  strategy.anchors["y"].every = every;
  numeric::Engine engine(lower::lower(model.graph, model.placement, strategy));
  const std::vector<ir::Datum> inputs{tensor<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  return values<float>(engine.run(inputs)[0]);
}

TEST(BatchSerialise, AnchorsCountMicroBatchesNotSlices) {
  for (bool in_phases : {false, true}) {
    EXPECT_THAT(anchored(in_phases, AnchorReturn::All), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(anchored(in_phases, AnchorReturn::EveryN, 2), ElementsAre(3, 4, 7, 8));
    EXPECT_THAT(anchored(in_phases, AnchorReturn::Final), ElementsAre(7, 8));
    EXPECT_THAT(anchored(in_phases, AnchorReturn::Sum), ElementsAre(16, 20));
  }
}

}  // namespace
}  // namespace podium::testing
