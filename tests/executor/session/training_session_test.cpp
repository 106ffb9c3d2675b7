#include "executor/session/training_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "executor/device/presets.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Key;
using testing::list;
using testing::model_of;
using ::testing::Not;
using ::testing::Pointwise;
using testing::TemporaryFolder;
using testing::tensor;
using testing::values;

// The loss is the sum of x * w, so the gradient of w is x.
constexpr const char* kLinear = R"(agraph (float[2] x) => (float loss) <float[2] w = {10, 20}>
  { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";

// Four layers with a squared error: two of them on each of two processors.
constexpr const char* kLayers = R"(agraph (float[2,3] x, float[2,3] wanted) => (float loss)
  <float[3,3] w0 = {0.1,0.2,0.3, -0.1,0.4,0.2, 0.5,-0.2,0.1}, float[3] b0 = {0.1,0.1,0.1},
   float[3,3] w1 = {0.3,-0.2,0.1, 0.2,0.1,-0.3, 0.1,0.1,0.4}, float[3] b1 = {0,0.2,-0.1}>
  { a = MatMul(x, w0) c = Add(a, b0) d = Tanh(c)
    e = MatMul(d, w1) f = Add(e, b1) g = Sub(f, wanted) h = Mul(g, g) loss = ReduceMean <keepdims = 0> (h) })";

TrainingOptions with(const Strategy& strategy, double rate = 0.5, double momentum = 0) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {rate, false}}, {"momentum", {momentum}}});
  return options;
}

std::string refusal(const char* body, const TrainingOptions& options) {
  return testing::refusal([&] { TrainingSession session(model_of(body), options); });
}

std::vector<float> weight(const TrainingSession& session, const std::string& name = "w") {
  return values<float>(session.weights().at(name));
}

TEST(TrainingSession, TakesAStepAgainstTheGradient) {
  TrainingSession session(model_of(kLinear), with({}));
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  EXPECT_THAT(values<float>(session.run(inputs)[0]), ElementsAre(50));
  EXPECT_EQ(session.loss(), 50);
  EXPECT_THAT(weight(session), ElementsAre(9.5F, 19));
  session.run(inputs);
  EXPECT_THAT(weight(session), ElementsAre(9, 18));
  EXPECT_EQ(session.steps(), 2);
}

// Eight weights of 1 after a step of size 1: what a Dropout hands on has a gradient of 1, what it keeps of 2.
std::vector<float> weights_behind(const std::string& dropout, int opset) {
  const std::string body =
      "g (float[8] x) => (float loss) <float[8] w = {1, 1, 1, 1, 1, 1, 1, 1}> "
      "{ y = Mul(x, w) d = " +
      dropout + " loss = ReduceSum <keepdims = 0> (d) }";
  TrainingSession session(importer::import_text(testing::model_text(body, opset)), with({}, 1));
  session.run(std::vector<ir::Datum>{list<float>({1, 1, 1, 1, 1, 1, 1, 1})});
  return weight(session);
}

TEST(TrainingSession, DropsWhereTheModelsOpsetCannotSay) {
  const auto some = AllOf(Each(AnyOf(1, -1)), Contains(1), Contains(-1));
  EXPECT_THAT(weights_behind("Dropout <ratio = 0.5> (y)", 7), some);
  EXPECT_THAT(weights_behind("Dropout (y)", 11), some);
  EXPECT_THAT(weights_behind("ai.graphcore.ShapedDropout <shape = [8], ratio = 0.5> (y)", 13), some);
  EXPECT_THAT(weights_behind("Dropout <is_test = 1> (y)", 6), Each(0));
  EXPECT_THAT(weights_behind("Dropout (y)", 12), Each(0));
}

TEST(TrainingSession, GivesEveryLossOfABatchInItsPlace) {
  TrainingSession session(model_of(kLinear), with({.batches_per_step = 2, .accumulation_factor = 2}));
  const std::vector<ir::Datum> inputs{list<float>({1, 0, 0, 1, 1, 0, 0, 1})};
  const ir::Tensor loss = session.run(inputs)[0].tensor;
  EXPECT_EQ(loss.dims(), (ir::Dims{2, 2}));
  EXPECT_THAT(values<float>(loss), ElementsAre(10, 20, 9.5F, 19.5F));
  EXPECT_EQ(session.loss(), 59.0 / 4);
}

TEST(TrainingSession, MeanReductionDividesByMicroBatchesAndReplicas) {
  for (const MeanStrategy strategy : {MeanStrategy::Post, MeanStrategy::Running}) {
    const Strategy options{
        .accumulation_factor = 2, .replicas = 2, .reduction = Reduction::Mean, .mean_strategy = strategy};
    TrainingSession session(model_of(kLinear), with(options));
    const std::vector<ir::Datum> inputs{list<float>({1, 2, 3, 4, 5, 6, 7, 8})};
    session.run(inputs);
    EXPECT_THAT(weight(session), ElementsAre(10 - 0.5F * 4, 20 - 0.5F * 5));
  }
}

TEST(TrainingSession, ChangesTheLearningRateBetweenSteps) {
  TrainingSession session(model_of(kLinear), with({}, 0.5));
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  session.update_optimizer(with({}, 2).optimizer);
  session.run(inputs);
  EXPECT_THAT(weight(session), ElementsAre(8, 16));
}

TEST(TrainingSession, TakesValuesOfItsOwnByGlobs) {
  TrainingOptions options = with({});
  options.optimizer.specific["b*"]["learningRate"] = {0, false};
  TrainingSession session(model_of(kLayers), options);
  const std::vector<ir::Datum> inputs{tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                                      tensor<float>({2, 3}, {1, 1, 1, 1, 1, 1})};
  const auto bias = weight(session, "b1");
  const auto matrix = weight(session, "w1");
  session.run(inputs);
  EXPECT_EQ(weight(session, "b1"), bias);
  EXPECT_NE(weight(session, "w1"), matrix);
  EXPECT_THAT(session.optimizer().specific, ElementsAre(Key("b0"), Key("b1")));
  options.optimizer.specific["b*"]["learningRate"].value = 0.5;
  session.update_optimizer(options.optimizer);
  session.run(inputs);
  EXPECT_NE(weight(session, "b1"), bias);
}

TEST(TrainingSession, WithSyntheticDataHasNoLossToTell) {
  TrainingSession session(model_of(kLinear), with({.synthetic_data = SyntheticData::RandomNormal}));
  EXPECT_THAT(session.run({}), ::testing::IsEmpty());
  EXPECT_EQ(session.loss(), 0);
  EXPECT_NE(weight(session)[0], 10);
}

TEST(TrainingSession, RefusesToChangeWhatIsConstant) {
  TrainingSession session(model_of(kLinear), with({}));
  EXPECT_THROW(session.update_optimizer(with({}, 0.5, 0.9).optimizer), Error);
  EXPECT_THROW(session.update_optimizer(ir::make_optimizer("Adam")), Error);
}

TEST(TrainingSession, SetsWeights) {
  TrainingSession session(model_of(kLinear), with({}));
  session.set_weights({{"w", list<float>({1, 1})}});
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  EXPECT_THAT(values<float>(session.run(inputs)[0]), ElementsAre(3));
  EXPECT_THROW(session.set_weights({{"v", list<float>({1, 1})}}), Error);
  EXPECT_THROW(session.set_weights({{"w", list<float>({1, 1, 1})}}), Error);
}

TEST(TrainingSession, HasNoWeightsWhereItOnlyEstimates) {
  TrainingOptions options = with({});
  options.session.clock = true;
  options.session.estimate = true;
  TrainingSession session(model_of(kLinear), options);
  EXPECT_THROW(session.weights(), Error);
  EXPECT_THROW(session.set_weights({{"w", list<float>({1, 1})}}), Error);
}

// How often a product of the Program asks for partial sums in halves, and how often it does not.
std::pair<int, int> partials_of_products(const char* model, const Strategy& strategy) {
  TrainingOptions options = with(strategy);
  options.session.clock = true;
  options.session.estimate = true;
  const TrainingSession session(model_of(model), options);
  std::pair<int, int> counts;
  for (const executor::Block& block : session.program().blocks) {
    for (const ir::Op& op : block.graph.ops) {
      if (op.spec->category != ir::Category::MatrixProduct) continue;
      const auto* partials = ir::attribute_if<std::string>(op, "__partials_type");
      ++(partials != nullptr && *partials == "half" ? counts.first : counts.second);
    }
  }
  return counts;
}

// Two products, and of the derivatives all but that of the data.
TEST(TrainingSession, SumsUpDerivativesAsTheProductsThatTheyComeFrom) {
  EXPECT_EQ(partials_of_products(kLayers, {}), std::pair(0, 5));
  EXPECT_EQ(partials_of_products(kLayers, {.matmuls = {.partials = Partials::Half}}), std::pair(5, 0));
  std::string annotated = kLayers;
  const std::string product = "MatMul(d, w1)";
  annotated.replace(annotated.find(product), product.size(), "MatMul <__partials_type = \"half\"> (d, w1)");
  EXPECT_EQ(partials_of_products(annotated.c_str(), {}), std::pair(3, 2));
}

// Which rows are taken, and so the size of what is multiplied, is told by the data.
TEST(TrainingSession, IsClockedAfterTheFirstStepWhereDataDecidesSizes) {
  constexpr const char* kChosen =
      R"(agraph (bool[4] chosen, float[4,3] x) => (float loss) <float[3] w = {1, 2, 3}>
    { rows = Compress <axis = 0> (x, chosen) y = Mul(rows, w) loss = ReduceSum <keepdims = 0> (y) })";
  TrainingOptions options = with({.accumulation_factor = 2});
  options.session.clock = true;
  TrainingSession session(model_of(kChosen), options);
  EXPECT_EQ(session.timeline(), nullptr);
  ir::Tensor chosen(ir::DataType::Bool, {2, 4});
  std::fill_n(chosen.data<bool>(), 8, true);
  const std::vector<ir::Datum> inputs{chosen, list(std::vector<float>(24, 1))};
  session.run(inputs);
  ASSERT_NE(session.timeline(), nullptr) << ::testing::PrintToString(session.notes());
  EXPECT_GT(session.timeline()->makespan, 0);
  EXPECT_THAT(session.notes(), Not(Contains(HasSubstr("no simulated time"))));
}

TEST(TrainingSession, WarnsOfStatesThatUnderflow) {
  TrainingOptions options = with({});
  options.optimizer = ir::make_optimizer("Adam");
  const auto warns = [&] {
    TrainingSession session(model_of(kLinear), options);
    return std::any_of(session.notes().begin(), session.notes().end(),
                       [](const std::string& note) { return note.starts_with("warning: states of Adam"); });
  };
  EXPECT_FALSE(warns());
  options.optimizer.state_type = ir::DataType::Float16;
  EXPECT_TRUE(warns());
  options.optimizer.scaled_state = true;
  EXPECT_TRUE(warns());
  options.optimizer.loss_scaling.value = 1024;
  EXPECT_FALSE(warns());
}

// The same layers, normalised in the other two ways.
constexpr const char* kNormalised = R"(agraph (float[2,3] x, float[2,3] wanted) => (float loss)
  <float[3,3] w0 = {0.1,0.2,0.3, -0.1,0.4,0.2, 0.5,-0.2,0.1}, float[3] g0 = {1.1,0.9,1}, float[3] b0 = {0.1,0.1,0.1},
   float[3,3] w1 = {0.3,-0.2,0.1, 0.2,0.1,-0.3, 0.1,0.1,0.4}, float[3] g1 = {0.8,1,1.2}, float[3] b1 = {0,0.2,-0.1},
   float[3] mean = {0,0,0}, float[3] variance = {1,1,1}>
  { a = MatMul(x, w0) c = LayerNormalization(a, g0, b0) d = Tanh(c)
    e = MatMul(d, w1) f = BatchNormalization <training_mode = 1> (e, g1, b1, mean, variance)
    g = Sub(f, wanted) h = Mul(g, g) loss = ReduceMean <keepdims = 0> (h) })";

enum class Fuse : std::uint8_t { No, Yes };

// What three steps over the layers come to.
TensorsByName train_layers(const Strategy& strategy, const char* layers = kLayers, Fuse fuse = Fuse::No) {
  TrainingOptions options = with(strategy, 0.1, 0.9);
  options.session.fuse = fuse == Fuse::Yes;
  TrainingSession session(model_of(layers), options);
  const std::int64_t count =
      std::int64_t{strategy.batches_per_step} * strategy.accumulation_factor * strategy.replicas;
  std::vector<float> x;
  std::vector<float> wanted;
  for (std::int64_t i = 0; i < 6 * count; ++i) {
    x.push_back(0.1F * static_cast<float>(i % 7) - 0.2F);
    wanted.push_back(0.2F * static_cast<float>(i % 5) - 0.3F);
  }
  const std::vector<ir::Datum> inputs{tensor<float>({count, 2, 3}, x), tensor<float>({count, 2, 3}, wanted)};
  for (int i = 0; i < 3; ++i) session.run(inputs);
  TensorsByName result = session.weights();
  result.merge(session.optimizer_state());
  return result;
}

void expect_same(const TensorsByName& found, const TensorsByName& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(ir::identical(found.at(name), tensor)) << name;
  }
}

// Of how many tensors.
std::size_t expect_numbers_of_one_processor(const char* layers, Fuse fuse) {
  const Strategy one{.batches_per_step = 2, .accumulation_factor = 4};
  Strategy sharded = one;
  sharded.virtual_graph_mode = VirtualGraphMode::Auto;
  sharded.ipus = 2;
  Strategy pipelined = sharded;
  pipelined.pipelining = true;
  const TensorsByName wanted = train_layers(one, layers, fuse);
  expect_same(train_layers(sharded, layers, fuse), wanted);
  expect_same(train_layers(pipelined, layers, fuse), wanted);
  return wanted.size();
}

TEST(TrainingSession, EveryPlaceGivesTheNumbersOfOneProcessor) {
  EXPECT_EQ(expect_numbers_of_one_processor(kLayers, Fuse::No), 8U);
}

// The gradient of a normalisation is one op wherever it is.
TEST(TrainingSession, EveryPlaceGivesTheNumbersOfOneProcessorForNormalisationsThatAreFused) {
  expect_numbers_of_one_processor(kNormalised, Fuse::Yes);
}

TEST(TrainingSession, APipelineOfFewerMicroBatchesThanStagesGivesTheNumbersOfOneProcessor) {
  Strategy strategy{.accumulation_factor = 2};
  const TensorsByName wanted = train_layers(strategy);
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.ipus = 2;
  strategy.pipelining = true;
  expect_same(train_layers(strategy), wanted);
}

TEST(TrainingSession, ClocksAStep) {
  TrainingOptions options = with({.accumulation_factor = 2});
  options.session.clock = true;
  TrainingSession session(model_of(kLinear), options);
  ASSERT_NE(session.timeline(), nullptr);
  EXPECT_GT(session.timeline()->makespan, 0);
}

// Four bytes an element, and no zeros beside them; each of two replicas has a half where accumulators are
// sharded.
TEST(TrainingSession, HoldsWeightsStateAndAccumulatorsAndNothingElseOfTheirSize) {
  constexpr const char* kWide = R"(agraph (float[8] x) => (float loss)
    <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}>
    { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";
  for (const bool sharded : {false, true}) {
    Strategy strategy{.accumulation_factor = 2, .replicas = sharded ? 2 : 1};
    strategy.accumulators.location.sharded = sharded;
    strategy.accumulators.min_elements_for_sharding = 2;
    TrainingOptions options = with(strategy);
    options.optimizer.defaults["momentum"] = {0.9, false};
    options.optimizer.sgd_state = ir::SgdState::Separate;
    options.session.clock = true;
    const TrainingSession session(model_of(kWide), options);
    const sim::MemoryUse use = session.timeline()->processors[0].memory;
    EXPECT_EQ(use.weights, 8 * 4);
    EXPECT_EQ(use.optimizer_state, 8 * 4);
    EXPECT_EQ(use.accumulators, 8 * 4 / strategy.replicas);
  }
}

// By time both weights belong on processor 0. Both with Adam's two states and an accumulator are 256 bytes,
// on top of which an update computes with 96.
TEST(TrainingSession, PlacesByWhatTrainingHoldsForWeights) {
  constexpr const char* kChain = R"(agraph (float[8] x) => (float loss)
    <float[8] w0 = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] w1 = {1, 2, 3, 4, 5, 6, 7, 8}>
    { a = Mul(x, w0) b = Mul(a, w1) c = Tanh(b) d = Tanh(c) loss = ReduceSum <keepdims = 0> (d) })";
  const auto accumulators = [&](std::int64_t memory_bytes) {
    TrainingOptions options =
        with({.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .accumulation_factor = 2});
    options.optimizer = ir::make_optimizer("Adam");
    options.session.clock = true;
    device::Device& device = options.session.device.emplace(*device::find_preset(device::kDefaultPreset));
    device.tiles = 4;
    device.tile_memory_bytes = memory_bytes / 4;
    device.code_bytes_per_op = 0;
    const TrainingSession session(model_of(kChain), options);
    return session.timeline()->processors[0].memory.accumulators;
  };
  EXPECT_EQ(accumulators(1 << 20), 64);
  EXPECT_EQ(accumulators(340), 32);
}

// Each Tanh keeps 32 bytes for its derivative: in stage 0 of two those of three micro-batches, or none when
// it is made again.
TEST(TrainingSession, PlacesByTheStashesOfAPipeline) {
  constexpr const char* kChain =
      R"(agraph (float[8] x) => (float loss) <float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}>
    { a = Mul(x, w) b = Tanh(a) c = Tanh(b) d = Tanh(c) e = Tanh(d) loss = ReduceSum <keepdims = 0> (e) })";
  const auto tanhs_of_stage_0 = [&](Recomputation recomputation) {
    TrainingOptions options = with({.virtual_graph_mode = VirtualGraphMode::Auto,
                                    .ipus = 2,
                                    .pipelining = true,
                                    .accumulation_factor = 8,
                                    .recomputation = recomputation});
    options.session.clock = true;
    device::Device& device = options.session.device.emplace(*device::find_preset(device::kDefaultPreset));
    device.tiles = 4;
    device.tile_memory_bytes = 280 / 4;
    device.code_bytes_per_op = 0;
    const TrainingSession session(model_of(kChain), options);
    int tanhs = 0;
    for (const executor::Block& block : session.program().blocks) {
      if (block.name != "stage0") continue;
      for (const ir::Op& op : block.graph.ops) tanhs += op.is("Tanh") ? 1 : 0;
    }
    return tanhs;
  };
  EXPECT_EQ(tanhs_of_stage_0(Recomputation::None), 1);
  EXPECT_EQ(tanhs_of_stage_0(Recomputation::Pipeline), 2);
}

TEST(TrainingSession, GoesOnWhereASavedModelWas) {
  const TemporaryFolder folder;
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  TrainingSession whole(model_of(kLinear), with({}, 0.5, 0.9));
  for (int i = 0; i < 4; ++i) whole.run(inputs);
  TrainingSession first(model_of(kLinear), with({}, 0.5, 0.9));
  for (int i = 0; i < 2; ++i) first.run(inputs);
  first.model_to_file(folder.file("saved.onnx"));
  importer::Model model = model_of(kLinear);
  resume(model, importer::import_model(folder.file("saved.onnx")));
  TrainingSession second(std::move(model), with({}, 0.5, 0.9));
  for (int i = 0; i < 2; ++i) second.run(inputs);
  EXPECT_EQ(weight(second), weight(whole));
  expect_same(second.optimizer_state(), whole.optimizer_state());
  EXPECT_THAT(second.optimizer_state(), ElementsAre(Key("Accl___w")));
}

TEST(TrainingSession, SaysWhichSavedStateAnotherOptimizerHasNoUseFor) {
  const TemporaryFolder folder;
  TrainingOptions adam = with({});
  adam.optimizer = ir::make_optimizer("Adam");
  TrainingSession first(model_of(kLinear), adam);
  first.run(std::vector<ir::Datum>{list<float>({1, 2})});
  first.model_to_file(folder.file("saved.onnx"));
  importer::Model model = model_of(kLinear);
  resume(model, importer::import_model(folder.file("saved.onnx")));
  EXPECT_THAT(TrainingSession(model, adam).notes(), ::testing::IsEmpty());
  EXPECT_THAT(TrainingSession(model, with({}, 0.5, 0.9)).notes(),
              ElementsAre("3 saved states are not used, this form of SGD has none such: Accl1___w, ..."));
}

TEST(TrainingSession, ASavedModelRuns) {
  const TemporaryFolder folder;
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  TrainingSession session(model_of(kLinear), with({}, 0.5, 0.9));
  session.run(inputs);
  session.model_to_file(folder.file("saved.onnx"));
  InferenceSession inference(importer::import_model(folder.file("saved.onnx")));
  EXPECT_EQ(values<float>(inference.run(inputs)[0]), values<float>(session.run(inputs)[0]));
}

TEST(TrainingSession, ASaveThatFailsLeavesWhatWasThere) {
  const TemporaryFolder folder;
  TrainingSession session(model_of(kLinear), with({}));
  EXPECT_THROW(session.model_to_file(folder.file("missing/saved.onnx")), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.file("missing")));
}

TEST(TrainingSession, ResumeNamesAWeightThatIsNotThere) {
  importer::Model model = model_of(kLinear);
  EXPECT_THROW(resume(model, model_of(kLayers)), Error);
}

TEST(TrainingSession, NamesStepAndTensorOfALossThatIsNoNumber) {
  TrainingSession session(model_of(kLinear), with({}));
  const std::vector<ir::Datum> good{list<float>({1, 2})};
  session.run(good);
  const std::vector<ir::Datum> bad{list<float>({1, std::numeric_limits<float>::quiet_NaN()})};
  try {
    session.run(bad);
    FAIL() << "a loss of NaN passed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 2: loss 'loss' is nan in micro-batch 1 of 1"));
    EXPECT_THAT(error.what(), HasSubstr("'w'"));
  }
}

// A mean over no samples is no loss, and moves nothing (semantics, section 10.2).
TEST(TrainingSession, LearnsNothingFromLabelsThatAreAllIgnored) {
  for (const char* loss :
       {"loss = SoftmaxCrossEntropyLoss <ignore_index = -1> (y, labels)",
        "p = LogSoftmax (y) loss = NegativeLogLikelihoodLoss <ignore_index = -1> (p, labels)"}) {
    const std::string body = std::string("agraph (float[2,2] x, int64[2] labels) => (float loss) ") +
                             "<float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) " + loss + " }";
    TrainingSession session(model_of(body.c_str()), with({}));
    session.run(
        std::vector<ir::Datum>{tensor<float>({2, 2}, {1, 2, 3, 4}), tensor<std::int64_t>({2}, {-1, -1})});
    EXPECT_EQ(session.loss(), 0);
    EXPECT_THAT(weight(session), ElementsAre(1, 2, 3, 4));
  }
}

TEST(TrainingSession, RefusesALossThatIsNone) {
  TrainingOptions options = with({});
  options.loss = "y";
  EXPECT_THAT(refusal(kLinear, options), HasSubstr("loss 'y' is float[2], one number needed"));
  options.loss = "los";
  EXPECT_EQ(refusal(kLinear, options),
            "loss 'los': the model has no tensor of this name, the nearest is 'loss'");
}

TEST(TrainingSession, KnowsTheTensorsThatLocationsAreFor) {
  Strategy strategy{.accumulation_factor = 2};
  strategy.location_overrides = {{"w", {}}, {"y", {}}, {"Accum___w", {}}};
  EXPECT_EQ(refusal(kLinear, with(strategy)), "");
  strategy.location_overrides["Acum___w"] = {};
  EXPECT_THAT(refusal(kLinear, with(strategy)),
              HasSubstr("'Acum___w': the model has no tensor of this name, the nearest is 'Accum___w'"));
}

TEST(TrainingSession, RefusesALossThatDependsOnNoWeight) {
  constexpr const char* kFree = R"(agraph (float[2] x) => (float[2] y, float loss) <float[2] w = {10, 20}>
    { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (x) })";
  EXPECT_THAT(refusal(kFree, with({})), HasSubstr("does not depend on any weight"));
}

TEST(TrainingSession, RefusesWhatCannotWaitForTheUpdate) {
  EXPECT_EQ(refusal(R"(agraph (float[2] x) => (float loss) <float[2] w = {10, 20}>
                      { a = Abs <__execution_context = 1> (w) y = Mul(x, a)
                        loss = ReduceSum <keepdims = 0> (y) })",
                    with({})),
            "node 'y' (Mul) runs for each micro-batch and reads 'a' of node 'a' (Abs), which runs once per "
            "update (__execution_context = 1): 0 needed there");
  EXPECT_EQ(refusal(R"(agraph (float[2] x, float[2] u) => (float loss, float[2] z) <float[2] w = {10, 20}>
                      { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y)
                        z = Abs <__execution_context = 1> (u) })",
                    with({})),
            "node 'z' (Abs) runs once per update (__execution_context = 1) and reads the input 'u', which no "
            "node reads that runs for each micro-batch: 0 needed there");
}

// The update reads what the last micro-batch has brought.
TEST(TrainingSession, ComputesOncePerUpdateWhatTheLastMicroBatchLeaves) {
  TrainingSession session(model_of(R"(agraph (float[2] x) => (float loss, float[2] z) <float[2] w = {10, 20}>
                 { y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) z = Abs <__execution_context = 1> (y) })"),
                          with({.batches_per_step = 1, .accumulation_factor = 2}));
  const std::vector<ir::Datum> inputs{list<float>({1, 1, -2, 3})};
  EXPECT_THAT(values<float>(session.run(inputs)[1]), ElementsAre(20, 60));
}

TEST(TrainingSession, RefusesAModelWithoutWeights) {
  constexpr const char* kBare = "agraph (float[2] x) => (float loss) { loss = ReduceSum <keepdims = 0> (x) }";
  EXPECT_THAT(refusal(kBare, with({})), HasSubstr("no initializer"));
}

TEST(TrainingSession, RefusesALocationForNoTensor) {
  TrainingOptions options = with({}, 0.5, 0.9);
  const ir::TensorLocation off_chip{.storage = ir::Storage::OffChip};
  options.session.strategy.location_overrides = {{"w", off_chip}, {"y", off_chip}, {"Accl___w", off_chip}};
  EXPECT_EQ(refusal(kLinear, options), "");
  options.session.strategy.location_overrides = {{"Accl1___w", off_chip}};
  EXPECT_THAT(
      refusal(kLinear, options),
      HasSubstr(
          "tensorLocationSettingsOverride 'Accl1___w': the model has no tensor of this name, the nearest "
          "is 'Accl___w'"));
}

TEST(TrainingSession, RefusesInputsOfAnotherSize) {
  TrainingSession session(model_of(kLinear), with({.batches_per_step = 2}));
  const std::vector<ir::Datum> inputs{list<float>({1, 2})};
  EXPECT_THROW(session.run(inputs), Error);
}

constexpr const char* kDropping =
    R"(agraph (float[64] x) => (float loss) <float[64] w = {1}, float r = {0.5}, bool t = {1}>
    { v = Mul(x, w) a = Dropout(v, r, t) b = Dropout(v, r, t) s = Add(a, b) loss = ReduceSum <keepdims = 0> (s) })";

// The masks of a and b in two micro-batches of each of two steps.
std::vector<std::vector<float>> drawn_masks(std::uint64_t seed) {
  TrainingOptions options = with({.accumulation_factor = 2}, 0);
  options.session.seed = seed;
  options.session.strategy.anchors = {{"a", {}}, {"b", {}}};
  std::string text = kDropping;
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ", 1";
  text.replace(text.find("w = {1}"), 7, "w = {" + ones + "}");
  TrainingSession session(model_of(text), options);
  std::vector<std::vector<float>> masks;
  for (int step = 0; step < 2; ++step) {
    const std::vector<ir::Datum> inputs{tensor<float>({2, 64}, std::vector<float>(128, 1))};
    const auto results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (session.outputs()[i].name == "loss") continue;
      const std::vector<float> both = values<float>(results[i]);
      masks.emplace_back(both.begin(), both.begin() + 64);
      masks.emplace_back(both.begin() + 64, both.end());
    }
  }
  return masks;
}

TEST(TrainingSession, DropsOtherElementsInEachStepMicroBatchAndOp) {
  const std::vector<std::vector<float>> masks = drawn_masks(1);
  ASSERT_EQ(masks.size(), 8U);
  const std::set<std::vector<float>> different(masks.begin(), masks.end());
  EXPECT_EQ(different.size(), 8U);
  EXPECT_EQ(drawn_masks(1), masks);
  EXPECT_NE(drawn_masks(2), masks);
}

}  // namespace
}  // namespace podium
