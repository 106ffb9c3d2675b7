#include "executor/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "executor/device/presets.h"
#include "ir/builder.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::tensor;
using testing::values;

constexpr const char* kIdentity = "agraph (float x) => (float y) { y = Identity(x) }";
constexpr const char* kIdentity2 = "agraph (float[2] x) => (float[2] y) { y = Identity(x) }";
// Two layers; with 4 features, three micro-batches of one row.
constexpr const char* kTwoLayers = R"(agraph (float[1,4] x) => (float[1,4] y)
  <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,8,7,6, 5,4,3,2}, float[4,4] v = {1,0,2,0, 0,1,0,2, 2,0,1,0, 0,2,0,1}>
  { a = MatMul(x, w) b = Relu(a) c = MatMul(b, v) y = Tanh(c) })";

ir::Tensor counting(ir::Dims dims) {
  std::vector<float> numbers(static_cast<std::size_t>(ir::element_count(dims)));
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  return tensor(std::move(dims), numbers);
}

Strategy with_anchor(Strategy options, AnchorReturn returns, int every = 1) {
  options.anchors["y"] = {.returns = returns, .every = every};
  return options;
}

ir::Tensor run(const char* body, const Strategy& options, const ir::Tensor& input) {
  InferenceSession session(testing::model_of(body), {.strategy = options});
  const std::vector<ir::Datum> inputs{input};
  return session.run(inputs)[0].tensor.clone();
}

std::string refusal(const char* body, const Strategy& options, const ir::Tensor& input) {
  return testing::refusal([&] { run(body, options, input); });
}

TEST(WhileRunning, WhatIsThrownEndsARunAndTheNextOneGivesItsNumbers) {
  struct Stop {};
  int calls_left = 3;
  const auto count_down = [&] {
    if (calls_left-- == 0) throw Stop{};
  };
  Strategy options;
  options.batches_per_step = 8;
  InferenceSession session(testing::model_of(kTwoLayers), {.strategy = options, .while_running = count_down});
  const std::vector<ir::Datum> inputs{counting({8, 1, 4})};
  EXPECT_THROW(session.run(inputs), Stop);
  calls_left = 1000;
  const ir::Tensor after = session.run(inputs)[0].tensor.clone();
  EXPECT_LT(calls_left, 1000);
  EXPECT_TRUE(identical(after, run(kTwoLayers, options, inputs[0].tensor)));
}

// PopART's prune_all_error_test. A model's own outputs may well need no op.
TEST(Anchors, ThatNoOpIsNeededForAreRefusedWhereTheModelHasNoOutputs) {
  constexpr const char* kNoOutputs = "agraph (float[2] x, float[2] z) => () { y = Sqrt(x) }";
  const auto message = [&](const std::vector<std::string>& anchors) -> std::string {
    Strategy options;
    for (const std::string& name : anchors) options.anchors[name] = {};
    return testing::refusal(
        [&] { InferenceSession session(testing::model_of(kNoOutputs), {.strategy = options}); });
  };
  EXPECT_EQ(
      message({"x"}),
      "anchor 'x': the model has no outputs of its own and no op makes an anchor: there is nothing to compute");
  EXPECT_EQ(message({"x", "z"}),
            "anchor 'x' and 1 more: the model has no outputs of its own and no op makes an anchor: "
            "there is nothing to compute");
  EXPECT_EQ(message({}), "the model has no outputs: an anchor needed, there is nothing to compute");
  EXPECT_EQ(message({"x", "y"}), "");
  EXPECT_EQ(
      refusal("agraph (float[2] x) => (float[2] c) <float[2] c = {1, 2}> { y = Sqrt(x) }", {}, counting({2})),
      "");
  EXPECT_EQ(refusal(kIdentity2, {.anchors = {{"x", {}}}}, counting({2})), "");
}

TEST(Anchors, AStarStandsForOutputsWithoutOneOfTheirOwn) {
  const Strategy options{
      .batches_per_step = 4,
      .anchors = {{"*", {.returns = AnchorReturn::Final}}, {"z", {.returns = AnchorReturn::Sum}}}};
  InferenceSession session(
      testing::model_of("agraph (float x) => (float y, float z) { y = Identity(x) z = Neg(x) }"),
      {.strategy = options});
  const std::vector<ir::Datum> inputs{counting({4})};
  const auto outputs = session.run(inputs);
  EXPECT_THAT(values<float>(outputs[0].tensor), ElementsAre(4));
  EXPECT_THAT(values<float>(outputs[1].tensor), ElementsAre(-10));
}

TEST(Anchors, OfScalarsOverEightBatches) {
  const Strategy options{.batches_per_step = 8};
  const ir::Tensor x = counting({8});
  EXPECT_THAT(values<float>(run(kIdentity, options, x)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::EveryN, 4), x)),
              ElementsAre(4, 8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::Final), x)), ElementsAre(8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::Sum), x)), ElementsAre(36));
}

TEST(Anchors, OfVectorsOverFourBatches) {
  const Strategy options{.batches_per_step = 4};
  const ir::Tensor x = counting({4, 2});
  EXPECT_EQ(run(kIdentity2, options, x).dims(), (ir::Dims{4, 2}));
  const ir::Tensor every = run(kIdentity2, with_anchor(options, AnchorReturn::EveryN, 2), x);
  EXPECT_EQ(every.dims(), (ir::Dims{2, 2}));
  EXPECT_THAT(values<float>(every), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(values<float>(run(kIdentity2, with_anchor(options, AnchorReturn::Sum), x)),
              ElementsAre(16, 20));
}

TEST(Anchors, OfTwoReplicas) {
  const Strategy options{.batches_per_step = 4, .replicas = 2};
  const ir::Tensor x = counting({8});
  const ir::Tensor all = run(kIdentity, options, x);
  EXPECT_EQ(all.dims(), (ir::Dims{4, 2}));
  EXPECT_THAT(values<float>(all), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::EveryN, 2), x)),
              ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::Final), x)), ElementsAre(7, 8));
  EXPECT_THAT(values<float>(run(kIdentity, with_anchor(options, AnchorReturn::Sum), x)), ElementsAre(16, 20));
}

TEST(Anchors, OfAnInnerTensorComeBackBesideTheOutputs) {
  InferenceSession session(testing::model_of("agraph (float[2] x) => (float[2] y) { h = Neg(x) y = Abs(h) }"),
                           {.strategy = {.anchors = {{"h", {}}}}});
  const std::vector<ir::Datum> inputs{counting({2})};
  const auto outputs = session.run(inputs);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(session.outputs()[1].name, "h");
  EXPECT_THAT(values<float>(outputs[1]), ElementsAre(-1, -2));
}

TEST(Anchors, OfNoTensorNameTheNearest) {
  EXPECT_THAT(refusal(kIdentity, {.anchors = {{"yy", {}}}}, counting({})),
              HasSubstr("anchor 'yy': the model has no tensor of this name, the nearest is 'y'"));
}

TEST(Session, CountsTheElementsOfAllMicroBatchesWhateverTheShape) {
  const Strategy options{.batches_per_step = 3, .replicas = 2};
  EXPECT_EQ(run(kIdentity2, options, counting({12})).dims(), (ir::Dims{3, 2, 2}));
  EXPECT_EQ(refusal(kIdentity2, options, counting({6, 1})),
            "input 'x': 6 elements found, 12 needed: 2 of a micro-batch x 3 micro-batches x 2 replicas");
}

TEST(Session, ABroadcastInputIsGivenOnceForAllReplicas) {
  importer::Model model = testing::model_of(kIdentity2);
  model.info.metadata["__replicated_stream_mode/x"] = "1";
  InferenceSession session(model, {.strategy = {.batches_per_step = 2, .replicas = 2}});
  const std::vector<ir::Datum> inputs{counting({2, 2})};
  EXPECT_THAT(values<float>(session.run(inputs)[0]), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  const std::vector<ir::Datum> twice{counting({2, 2, 2})};
  try {
    session.run(twice);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input 'x': 8 elements found, 4 needed: 2 of a micro-batch x 2 micro-batches x 1 replicas "
                 "(broadcast)");
  }
}

TEST(Session, MicroBatchesOfStringsLieInOneArray) {
  InferenceSession session(
      testing::model_of("agraph (string[2] x) => (string[2] y) { y = StringConcat(x, x) }"),
      {.strategy = {.batches_per_step = 2, .replicas = 2}});
  const std::vector<ir::Datum> inputs{tensor<std::string>({8}, {"a", "b", "c", "d", "e", "f", "g", "h"})};
  const ir::Tensor y = session.run(inputs)[0].tensor;
  EXPECT_EQ(y.dims(), (ir::Dims{2, 2, 2}));
  EXPECT_THAT(values<std::string>(y), ElementsAre("aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"));
}

TEST(Session, MicroBatchesThatAreSequencesAreTheItemsOfOne) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId s = builder.input("s", ir::Type::sequence(ir::Type::tensor(ir::DataType::Float, {1})));
  const ir::ValueId kept = builder.op("SequenceErase", {s});
  builder.output(kept);
  builder.output(builder.op("SequenceLength", {kept}));
  InferenceSession session({.graph = graph, .info = {}, .source = nullptr},
                           {.strategy = {.batches_per_step = 2, .replicas = 2},
                            .device = *device::find_preset(device::kDefaultPreset),
                            .clock = true});
  const auto sequence_of = [](int first, int count) {
    std::vector<ir::Datum> items;
    for (int i = 0; i < count; ++i) items.emplace_back(tensor<float>({1}, {static_cast<float>(first + i)}));
    return ir::Datum::sequence(std::move(items));
  };
  const std::vector<ir::Datum> inputs{
      ir::Datum::sequence({sequence_of(0, 1), sequence_of(10, 2), sequence_of(20, 3), sequence_of(30, 4)})};
  const auto outputs = session.run(inputs);
  ASSERT_EQ(outputs[0].items->size(), 4U);
  const ir::Items& last = *(*outputs[0].items)[3].items;
  ASSERT_EQ(last.size(), 3U);
  EXPECT_THAT(values<float>(last[2]), ElementsAre(32));
  EXPECT_THAT(values<std::int64_t>(outputs[1]), ElementsAre(0, 1, 2, 3));
  const std::vector<ir::Datum> too_few{ir::Datum::sequence({sequence_of(0, 1)})};
  EXPECT_THAT(testing::refusal([&] { session.run(too_few); }),
              HasSubstr("a sequence of 4 micro-batches needed, each sequence(float[1])"));
}

TEST(Session, RefusesAnArrayOfAnotherType) {
  EXPECT_EQ(refusal(kIdentity2, {.batches_per_step = 2}, tensor<std::int64_t>({4}, {1, 2, 3, 4})),
            "input 'x': int64[4] found, elements of type float needed");
}

TEST(Session, EveryStrategyComputesTheSame) {
  const ir::Tensor x = counting({3, 1, 4});
  const std::vector<float> one = values<float>(run(kTwoLayers, {.batches_per_step = 3}, x));
  const Strategy strategies[] = {
      {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .batches_per_step = 3},
      {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 3, .pipelining = true, .batches_per_step = 3},
      {.virtual_graph_mode = VirtualGraphMode::ExecutionPhases,
       .batches_per_step = 3,
       .phases = {.phases = 2}},
      {.batches_per_step = 1, .replicas = 3},
  };
  for (const Strategy& options : strategies) EXPECT_EQ(values<float>(run(kTwoLayers, options, x)), one);
}

TEST(Session, UsesAsManyProcessorsAsItWasTold) {
  const InferenceSession session(
      testing::model_of(kTwoLayers),
      {.strategy = {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 4, .replicas = 2}});
  EXPECT_EQ(session.program().processors, 2);
  EXPECT_EQ(session.program().replicas, 2);
}

TEST(Session, RefusesMoreThanTheDeviceHas) {
  device::Device device{.name = "small", .processors = 1};
  const SessionOptions options{.strategy = {.replicas = 2}, .device = device};
  try {
    const InferenceSession session(testing::model_of(kTwoLayers), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "1 processor found (device 'small'), 2 needed: 1 a replica, replicatedGraphCount 2");
  }
}

TEST(Session, AnnotationsAreCheckedBeforeAnythingIsDone) {
  EXPECT_THAT(refusal(kTwoLayers, {.virtual_graph_mode = VirtualGraphMode::Manual}, counting({1, 4})),
              HasSubstr("no node has a virtual graph"));
}

TEST(Session, RefusesALocationOfNoTensor) {
  EXPECT_EQ(refusal(kIdentity, {.location_overrides = {{"xx", {}}}}, counting({})),
            "tensorLocationSettingsOverride 'xx': the model has no tensor of this name, the nearest is 'x'");
}

TEST(Session, AnEstimateNeedsEveryDimension) {
  try {
    const InferenceSession session(
        testing::model_of("agraph (float[N,2] x) => (float[N,2] y) { y = Relu(x) }"),
        {.clock = true, .estimate = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input 'x' is float[N,2]: sizes needed, such as --dim N=2, or --dim '*=1' for all");
  }
}

TEST(Session, TellsWhatHasNoEffect) {
  const InferenceSession session(testing::model_of(kIdentity), {.strategy = {.io_tiles = 32}});
  EXPECT_THAT(session.notes(), ElementsAre("numIOTiles: no effect with virtualGraphMode Off"));
}

// A device of one processor with `bytes` of memory.
device::Device device_of(std::int64_t bytes) {
  device::Device device = *device::find_preset(device::kDefaultPreset);
  device.name = "small";
  device.tile_memory_bytes = bytes / device.tiles;
  return device;
}

TEST(Clock, TellsTheTimeBeforeTheRun) {
  const InferenceSession session(testing::model_of(kTwoLayers),
                                 {.device = device_of(1 << 30), .clock = true});
  ASSERT_NE(session.timeline(), nullptr);
  EXPECT_GT(session.timeline()->makespan, 0);
  EXPECT_TRUE(session.can_run());
}

TEST(Clock, ProductsThatSumUpInHalvesAreFaster) {
  const auto seconds = [](bool in_halves) {
    const InferenceSession session(
        testing::model_of(
            "agraph (float16[512,512] x, float16[512,512] w) => (float16[512,512] y) { y = MatMul(x, w) }"),
        {.strategy = {.matmuls = {.partials = in_halves ? Partials::Half : Partials::Float}},
         .device = *device::find_preset(device::kDefaultPreset),
         .clock = true,
         .estimate = true});
    return session.timeline()->makespan;
  };
  EXPECT_LT(seconds(true), seconds(false));
}

TEST(Clock, MemoryIsWhatTheRunMeasures) {
  const Strategy strategies[] = {
      {.batches_per_step = 3},
      {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 3, .pipelining = true, .batches_per_step = 3}};
  for (const Strategy& strategy : strategies) {
    InferenceSession session(testing::model_of(kTwoLayers),
                             {.strategy = strategy, .device = device_of(1 << 30), .clock = true});
    const std::vector<ir::Datum> inputs{counting({3, 1, 4})};
    session.run(inputs);
    for (int processor = 0; processor < session.program().processors; ++processor) {
      EXPECT_EQ(session.timeline()->processors[processor].memory.peak_data, session.peak_bytes(processor));
    }
  }
}

TEST(Clock, WaitsForARunWhereDataDecidesSizes) {
  constexpr const char* kNonZero = "agraph (float[4] x) => (int64[1,n] y) { a = Abs(x) y = NonZero(a) }";
  InferenceSession session(testing::model_of(kNonZero), {.device = device_of(1 << 30), .clock = true});
  EXPECT_EQ(session.timeline(), nullptr);
  const std::vector<ir::Datum> inputs{tensor<float>({4}, {0, 1, 0, 2})};
  EXPECT_THAT(values<std::int64_t>(session.run(inputs)[0]), ElementsAre(1, 3));
  ASSERT_NE(session.timeline(), nullptr);
  EXPECT_GT(session.timeline()->makespan, 0);
}

TEST(Clock, KnowsTheTripsOfALoopAfterTheRun) {
  constexpr const char* kLoop = R"(agraph (int64 n, float[2] x) => (float[2] y) {
    y = Loop(n, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] z) { d = Identity(c) z = Neg(a) }> })";
  double before = 0;
  for (std::int64_t trips : {1, 100}) {
    InferenceSession session(testing::model_of(kLoop), {.device = device_of(1 << 30), .clock = true});
    const std::vector<ir::Datum> inputs{ir::Tensor::scalar(trips), counting({2})};
    session.run(inputs);
    ASSERT_NE(session.timeline(), nullptr);
    EXPECT_GT(session.timeline()->makespan, before);
    before = session.timeline()->makespan;
  }
}

// Decoders of which the first step and all others were merged: of the branch that is not taken nothing fits.
constexpr const char* kMerged =
    R"(agraph (bool first, float[6] x) => (float[k] y) <int64[2] fives = {5, -1}> {
    a = Abs(x)
    y = If(first) <
      then_branch = t () => (float[n] p) { e = Exp(a) p = Neg(e) },
      else_branch = o () => (float[m] q) { r = Reshape(a, fives) q = ReduceSum<keepdims = 0>(r) }>
  })";

TEST(Clock, TakesTheBranchThatARunTakesWhereTheOtherDoesNotFit) {
  InferenceSession session(testing::model_of(kMerged),
                           {.device = device_of(1 << 30), .clock = true, .events = true});
  EXPECT_EQ(session.timeline(), nullptr);
  const std::vector<ir::Datum> inputs{ir::Tensor::of<bool>({}, {true}), counting({6})};
  session.run(inputs);
  ASSERT_NE(session.timeline(), nullptr);
  std::string names;
  for (const executor::Block& block : session.clocked_program().blocks) {
    for (const ir::Op& op : block.graph.ops) names += std::string(op.spec->name) + " ";
  }
  EXPECT_EQ(names, "Abs Exp Neg Identity ");
}

TEST(Clock, AnEstimateOfABranchThatDataDecidesIsRefused) {
  try {
    const InferenceSession session(testing::model_of(kMerged),
                                   {.device = device_of(1 << 30), .clock = true, .estimate = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "the branch of node 'y' (If) is decided by data: a run is needed, not an estimate, or --constant first=N");
  }
}

TEST(Clock, AnEstimateOfSizesThatDataDecidesIsRefused) {
  constexpr const char* kNonZero = "agraph (float[4] x) => (int64[1,n] y) { y = NonZero(x) }";
  try {
    const InferenceSession session(testing::model_of(kNonZero),
                                   {.device = device_of(1 << 30), .clock = true, .estimate = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the size of 'y', int64[1,?] is decided by data: a run is needed, not an estimate");
  }
}

TEST(Clock, AnEstimateComputesNothing) {
  const InferenceSession session(testing::model_of(kTwoLayers),
                                 {.device = device_of(1 << 30), .clock = true, .estimate = true});
  EXPECT_NE(session.timeline(), nullptr);
  EXPECT_FALSE(session.can_run());
}

TEST(Clock, WhatDoesNotFitIsNotPrepared) {
  const InferenceSession session(testing::model_of(kTwoLayers),
                                 {.device = device_of(1 << 13), .clock = true});
  ASSERT_NE(session.timeline(), nullptr);
  EXPECT_FALSE(session.timeline()->fits());
  EXPECT_FALSE(session.can_run());
}

}  // namespace
}  // namespace podium
