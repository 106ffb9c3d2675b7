// What crosses between host and processors, and when.
#include "executor/lower/draft/host_io.h"

#include <gmock/gmock.h>

#include "tests/executor/lower/draft/draft_sketch.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/refusal.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kOneRelu = "agraph (float[2] x) => (float[2] y) { y = Relu(x) }";

std::string steps(const Strategy& strategy, const char* body = kOneRelu) {
  Placed model = placed(body, {0});
  return steps_of(lower::lower(std::move(model.graph), model.placement, strategy));
}

TEST(HostIo, BeginsACycleLaterWhereInputsComeAhead) {
  DraftSketch in_time("g (float[2] x) => (float[2] y) { y = Relu(x) }", {.batches_per_step = 6});
  EXPECT_EQ(lower::HostIo(in_time.draft).first_cycle(), 0);
  DraftSketch ahead(
      "g (float[2] x) => (float[2] y) { y = Relu(x) }",
      {.batches_per_step = 6, .io_tiles = 32, .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop});
  EXPECT_EQ(lower::HostIo(ahead.draft).first_cycle(), 1);
}

// Anchors and ways are those of the whole tensors.
TEST(HostIo, PartsMoveAsTheTensorsThatTheyArePartOf) {
  Placed model = placed(R"(agraph (float[4] x) => (float[4] y)
                           <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    a = Slice (x, zero, two) p = Relu (a) b = Slice (x, two, four) q = Relu (b) y = Concat <axis = 0> (p, q)
  })",
                        {0, 0, 1, 1, 0});
  model.placement.inputs["x"].tiles = ir::TileSet::IO;
  Strategy strategy{.batches_per_step = 4, .io_tiles = 32};
  strategy.anchors["y"] = {.returns = AnchorReturn::EveryN, .every = 2};
  const executor::Program program = lower::lower(model.graph, model.placement, strategy);
  EXPECT_EQ(steps_of(program),
            "repeat 4 times\n"
            "  load a@0.io from host x[0:2]\n"
            "  tiles a@0.io -> a@0\n"
            "  compute part0 on ipu 0: (a@0) -> (p@0)\n"
            "  store p@0 to host y[0:2]\n"
            "  load b@1.io from host x[2:4]\n"
            "  tiles b@1.io -> b@1\n"
            "  compute part1 on ipu 1: (b@1) -> (q@1)\n"
            "  store q@1 to host y[2:4]\n");
  ASSERT_EQ(program.inputs.size(), 1U);
  ASSERT_EQ(program.outputs.size(), 1U);
  EXPECT_EQ(program.outputs[0].name, "y");
  EXPECT_EQ(program.outputs[0].every, 2);
  EXPECT_EQ(program.outputs[0].parts.size(), 2U);
}

TEST(HostIo, OverTheIoTilesJustInTime) {
  Placed model = placed(kOneRelu, {0});
  model.placement.inputs["x"].tiles = ir::TileSet::IO;
  Strategy strategy{.batches_per_step = 4, .io_tiles = 32};
  strategy.anchors["y"].tiles = ir::TileSet::IO;
  EXPECT_EQ(steps_of(lower::lower(model.graph, model.placement, strategy)),
            "repeat 4 times\n"
            "  load x@0.io from host\n"
            "  tiles x@0.io -> x@0\n"
            "  compute all on ipu 0: (x@0) -> (y@0)\n"
            "  tiles y@0 -> y@0.io\n"
            "  store y@0.io to host\n");
}

TEST(HostIo, OverlapLoadsTheNextAndStoresTheLastBesideTheComputation) {
  const Strategy strategy{
      .batches_per_step = 6, .io_tiles = 32, .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop};
  EXPECT_EQ(steps(strategy),
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "load x@0.io from host\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "tiles y@0 -> y@0.io\n"
            "repeat 4 times\n"
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

TEST(HostIo, OverlapWithoutIoTilesHasTheSameOrderOnComputeTiles) {
  EXPECT_EQ(steps({.batches_per_step = 4, .overlap_io = ir::ExchangeStrategy::OverlapLoops}),
            "load x@0[0] from host\n"
            "load x@0[1] from host\n"
            "compute all on ipu 0: (x@0[0]) -> (y@0)\n"
            "repeat 2 times\n"
            "  load x@0[0+1i] from host\n"
            "  store y@0 to host\n"
            "  compute all on ipu 0: (x@0[1+1i]) -> (y@0)\n"
            "store y@0 to host\n"
            "compute all on ipu 0: (x@0[1]) -> (y@0)\n"
            "store y@0 to host\n");
}

TEST(HostIo, OverlapOfOneBatchIsInOrder) {
  EXPECT_EQ(steps({.io_tiles = 32, .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop}),
            "load x@0.io from host\n"
            "tiles x@0.io -> x@0\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "tiles y@0 -> y@0.io\n"
            "store y@0.io to host\n");
}

TEST(HostIo, ATensorsOwnSettingsWin) {
  Placed model = placed("agraph (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", {0});
  model.placement.inputs["w"] = {.tiles = ir::TileSet::Compute, .exchange = ir::ExchangeStrategy::JustInTime};
  Strategy strategy{
      .batches_per_step = 5, .io_tiles = 32, .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop};
  strategy.anchors["y"].exchange = ir::ExchangeStrategy::JustInTime;
  EXPECT_THAT(steps_of(lower::lower(model.graph, model.placement, strategy)),
              HasSubstr("repeat 4 times\n"
                        "  tiles x@0.io -> x@0\n"
                        "  load x@0.io from host\n"
                        "  load w@0 from host\n"
                        "  compute all on ipu 0: (x@0, w@0) -> (y@0)\n"
                        "  store y@0 to host\n"));
}

TEST(HostIo, OverlapInAPipelineFillsACycleMoreAtEachEnd) {
  const Placed model = placed("agraph (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", {0, 1});
  const Strategy strategy{.pipelining = true,
                          .batches_per_step = 6,
                          .io_tiles = 32,
                          .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop};
  EXPECT_THAT(steps_of(lower::lower(model.graph, model.placement, strategy)),
              HasSubstr("repeat 3 times\n"
                        "  tiles x@0.io -> x@0\n"
                        "  load x@0.io from host\n"
                        "  store y@1.io to host\n"
                        "  compute stage0 on ipu 0: (x@0) -> (a@0)\n"
                        "  compute stage1 on ipu 1: (a@1) -> (y@1)\n"
                        "  tiles y@1 -> y@1.io\n"
                        "  copy a@0 -> a@1\n"));
}

TEST(Anchors, SayWhatComesBack) {
  Strategy strategy{.batches_per_step = 8};
  const auto output = [&](AnchorReturn returns, int every) {
    strategy.anchors["y"] = {.returns = returns, .every = every};
    Placed model = placed(kOneRelu, {0});
    return lower::lower(std::move(model.graph), model.placement, strategy).outputs.at(0);
  };
  EXPECT_EQ(output(AnchorReturn::All, 1).every, 1);
  EXPECT_EQ(output(AnchorReturn::All, 1).leading, (ir::Dims{8, 1}));
  EXPECT_EQ(output(AnchorReturn::EveryN, 4).every, 4);
  EXPECT_EQ(output(AnchorReturn::EveryN, 4).leading, (ir::Dims{2, 1}));
  EXPECT_EQ(output(AnchorReturn::Final, 1).every, 8);
  EXPECT_EQ(output(AnchorReturn::Final, 1).leading, ir::Dims{});
  EXPECT_EQ(output(AnchorReturn::Sum, 1).micro_batches, 1);
  EXPECT_EQ(output(AnchorReturn::Sum, 1).leading, ir::Dims{});
}

TEST(Anchors, ASumIsAddedUpOnTheDeviceAndStoredOnce) {
  Strategy strategy{.batches_per_step = 4};
  strategy.anchors["y"].returns = AnchorReturn::Sum;
  EXPECT_EQ(steps(strategy),
            "compute zero y on ipu 0: () -> (y_sum@0)\n"
            "repeat 4 times\n"
            "  load x@0 from host\n"
            "  compute all on ipu 0: (x@0) -> (y@0)\n"
            "  compute sum y on ipu 0: (y_sum@0, y@0) -> (y_sum@0)\n"
            "store y_sum@0 to host\n");
}

TEST(Anchors, ASumNeedsNumbersOfAKnownShape) {
  Strategy strategy;
  strategy.anchors["y"].returns = AnchorReturn::Sum;
  const auto message = [&](const char* body) { return refusal([&] { steps(strategy, body); }); };
  EXPECT_EQ(message("agraph (float[2] x) => (bool[2] y) { y = IsNaN(x) }"),
            "sum of anchor 'y': bool[2] found, numbers are needed");
  EXPECT_EQ(message("agraph (float[2] x) => (int64[1,N] y) { y = NonZero(x) }"),
            "sum of anchor 'y': int64[1,?] found, a tensor whose shape is known before the run is needed");
}

TEST(Anchors, AnyTensorCanComeBack) {
  Placed model = placed(
      "agraph (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w) y = Neg(a) }", {0, 1});
  Strategy strategy;
  for (const char* name : {"a", "w", "x"}) strategy.anchors[name] = {};
  const executor::Program program = lower::lower(std::move(model.graph), model.placement, strategy);
  std::vector<std::string> names;
  for (const executor::HostTensor& output : program.outputs) names.push_back(output.name);
  EXPECT_THAT(names, ::testing::ElementsAre("y", "a", "w", "x"));
  EXPECT_EQ(steps_of_kind<executor::StoreToHost>(program.steps).size(), 4U);
  EXPECT_EQ(steps_of_kind<executor::CopyBetweenProcessors>(program.steps).size(), 1U);
}

TEST(SyntheticData, CrossesNothing) {
  Placed model = placed("agraph (float[2] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }", {0});
  const Strategy strategy{.batches_per_step = 3, .synthetic_data = SyntheticData::RandomNormal};
  const executor::Program program = lower::lower(std::move(model.graph), model.placement, strategy);
  EXPECT_THAT(program.inputs, IsEmpty());
  EXPECT_THAT(program.outputs, IsEmpty());
  EXPECT_EQ(steps_of(program),
            "compute make x on ipu 0: () -> (x@0)\n"
            "compute make i on ipu 0: () -> (i@0)\n"
            "repeat 3 times\n"
            "  compute all on ipu 0: (x@0, i@0) -> (y@0)\n");
  EXPECT_EQ(program.blocks[0].graph.ops.at(0).spec->name, "RandomNormal");
  EXPECT_EQ(program.blocks[1].graph.ops.at(0).spec->name,
            "ConstantOfShape");  // any other index may not be there
}

}  // namespace
}  // namespace podium::testing
