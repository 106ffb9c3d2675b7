// Weights of sessions: constant or not, set anew, trained and then used, streams that replicas share,
// counters of running means, symbolic dimensions (semantics, section 15, row 30). tests/README.md says where
// the others of this row are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/session/acceptance.h"
#include "tests/executor/session/reference_network.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// The loss is the sum of x * w + 1, so the gradient of w is x.
constexpr const char* kTwoOutputs = R"(agraph (float[2] x) => (float[2] y, float loss)
  <float[2] w = {10, 20}, float[2] one = {1, 1}> {
  p = Mul(x, w) y = Add(p, one) loss = ReduceSum <keepdims = 0> (y) })";

InferenceSession inference(const char* text, bool constant_weights) {
  SessionOptions options;
  options.strategy.constant_weights = constant_weights;
  return InferenceSession(model_of(text), options);
}

std::vector<float> first_output(InferenceSession& session, const std::vector<float>& x) {
  const std::vector<ir::Datum> inputs{tensor<float>({std::ssize(x)}, x)};
  return values<float>(session.run(inputs)[0].tensor);
}

// constant_weights_error_test.
TEST(AcceptanceConstantWeights, CannotBeSet) {
  InferenceSession session = inference(kTwoOutputs, true);
  const TensorsByName other{{"w", tensor<float>({2}, {1, 1})}};
  EXPECT_EQ(testing::refusal([&] { session.set_weights(other); }),
            "weights cannot be set: constantWeights is true, false needed");
  EXPECT_THAT(first_output(session, {1, 2}), ElementsAre(11, 41));
}

// reset_host_weights_test.
TEST(AcceptanceResetWeights, OfAnInferenceSessionAreThoseOfAnotherModel) {
  InferenceSession session = inference(kTwoOutputs, false);
  EXPECT_THAT(first_output(session, {1, 2}), ElementsAre(11, 41));
  session.set_weights({{"w", tensor<float>({2}, {3, 4})}});
  EXPECT_THAT(first_output(session, {1, 2}), ElementsAre(4, 9));
  session.set_weights({{"one", tensor<float>({2}, {-1, -1})}});
  EXPECT_THAT(first_output(session, {1, 2}), ElementsAre(2, 7));
}

TEST(AcceptanceResetWeights, ReachTheCopiesOnOtherProcessors) {
  constexpr const char* kShared =
      "agraph (float[4,2] x) => (float[4,2] y) <float[2] w = {1, 2}> {"
      " a = Add(x, w) b = Relu(a) y = Mul(b, w) }";
  for (const bool pipelines : {false, true}) {
    for (const int slices : {0, 2}) {
      SessionOptions options;
      options.strategy = {.virtual_graph_mode = VirtualGraphMode::Manual,
                          .ipus = 2,
                          .pipelining = pipelines,
                          .batch_serialization = {.factor = slices},
                          .constant_weights = false};
      InferenceSession session(model_of(kShared, {0, 0, 1}), options);
      const std::vector<ir::Datum> x{tensor<float>({4, 2}, {0, 0, 1, 1, -9, 0, 2, 2})};
      const auto y = [&] { return values<float>(session.run(x)[0].tensor); };
      EXPECT_THAT(y(), ElementsAre(1, 4, 2, 6, 0, 4, 3, 8));
      session.set_weights({{"w", tensor<float>({2}, {2, 3})}});
      EXPECT_THAT(y(), ElementsAre(4, 9, 6, 12, 0, 9, 8, 15));
    }
  }
}

TEST(AcceptanceResetWeights, RefusesWhatIsNoWeightOfTheModel) {
  InferenceSession session = inference(kTwoOutputs, false);
  EXPECT_EQ(testing::refusal([&] {
              session.set_weights({{"v", tensor<float>({2}, {3, 4})}});
            }),
            "'v' is no weight");
  EXPECT_EQ(testing::refusal([&] {
              session.set_weights({{"w", tensor<float>({3}, {3, 4, 5})}});
            }),
            "'w': float[3] found, float[2] needed");
  EXPECT_EQ(testing::refusal([&] {
              session.set_weights({{"w", tensor<double>({2}, {3, 4})}});
            }),
            "'w': double[2] found, float[2] needed");
}

// What a weight of the reference model begins with.
ir::Tensor first_of(const std::string& name) {
  const importer::Model model = reference_model(1);
  for (const ir::Value& value : model.graph.values) {
    if (value.name == name) return *value.constant;
  }
  return {};
}

TEST(AcceptanceResetWeights, InEveryPlace) {
  Strategy sharded{.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2};
  Strategy pipelined = sharded;
  pipelined.pipelining = true;
  pipelined.batches_per_step = 4;
  Strategy off_chip = sharded;
  off_chip.weights.location.storage = ir::Storage::OffChip;
  Strategy replicated{.replicas = 4};
  replicated.weights.location.sharded = true;
  replicated.weights.min_elements_for_sharding = 2;
  Strategy phased{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  phased.phases.phases = 2;
  for (const Strategy& strategy : {Strategy{}, sharded, pipelined, off_chip, replicated, phased}) {
    const int count = strategy.batches_per_step * strategy.replicas;
    SessionOptions options;
    options.fuse = false;
    options.strategy = strategy;
    const std::vector<ir::Datum> inputs{input_of(reference_samples(4 * count, 1))};
    InferenceSession constant(reference_model(4), options);
    const std::vector<float> wanted = values<float>(constant.run(inputs)[0].tensor);
    options.strategy.constant_weights = false;
    InferenceSession session(reference_model(4), options);
    EXPECT_EQ(values<float>(session.run(inputs)[0].tensor), wanted);
    session.set_weights({{"w1", tensor<float>({3, 4}, std::vector<float>(12, 0.5F))}});
    EXPECT_NE(values<float>(session.run(inputs)[0].tensor), wanted);
    session.set_weights({{"w1", first_of("w1")}});
    EXPECT_EQ(values<float>(session.run(inputs)[0].tensor), wanted);
  }
}

// train_then_infer_test: the gradient does not depend on the weights, so that each step takes away the same.
TEST(AcceptanceTrainThenInfer, EachStepTakesTheSameAway) {
  TrainingOptions options = training_with({}, 0.1);
  options.weights = {"w"};
  TrainingSession training(model_of(kTwoOutputs), options);
  InferenceSession session = inference(kTwoOutputs, false);
  const std::vector<ir::Datum> inputs{tensor<float>({2}, {1, 2})};
  std::vector<std::vector<float>> outputs{first_output(session, {1, 2})};
  for (int step = 0; step < 2; ++step) {
    training.run(inputs);
    session.set_weights(training.weights());
    outputs.push_back(first_output(session, {1, 2}));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(outputs[2][i], outputs[1][i] - (outputs[0][i] - outputs[1][i]), 1e-5);
    EXPECT_LT(outputs[1][i], outputs[0][i]);
  }
}

TEST(AcceptanceTrainThenInfer, ThroughAFile) {
  const TemporaryFolder folder;
  TrainingOptions options = training_with({}, 0.1);
  options.weights = {"w"};
  TrainingSession training(model_of(kTwoOutputs), options);
  const std::vector<ir::Datum> inputs{tensor<float>({2}, {1, 2})};
  training.run(inputs);
  training.model_to_file(folder.file("trained.onnx"));
  InferenceSession from_file(importer::import_model(folder.file("trained.onnx")));
  InferenceSession session = inference(kTwoOutputs, false);
  session.set_weights(training.weights());
  EXPECT_EQ(first_output(from_file, {1, 2}), first_output(session, {1, 2}));
}

// dim_param_test.
TEST(AcceptanceDimParam, IsBoundAtImport) {
  constexpr const char* kSymbolic =
      R"(agraph (float[N,2] x) => (float[N,2] y, float loss) <float[2] w = {10, 20}> {
    y = Mul(x, w) loss = ReduceSum <keepdims = 0> (y) })";
  for (const int size : {1, 3}) {
    importer::ImportOptions bound;
    bound.dims["N"] = size;
    TrainingSession session(importer::import_text(model_text(kSymbolic), bound), training_with({}, 0.5));
    const std::vector<float> x(static_cast<std::size_t>(2 * size), 1);
    const std::vector<ir::Datum> inputs{tensor<float>({size, 2}, x)};
    session.run(inputs);
    EXPECT_THAT(values<float>(session.weights().at("w")),
                ElementsAre(10 - 0.5F * static_cast<float>(size), 20 - 0.5F * static_cast<float>(size)));
  }
}

// streammode_tests: every replica gets the same data of a broadcast input, in training as in inference.
TEST(AcceptanceStreamMode, ABroadcastInputIsTheSameForEveryReplica) {
  for (const int accumulation : {1, 2}) {
    importer::Model model =
        model_of(R"(agraph (float[2] x, float[2] z) => (float[2] y, float loss) <float[2] w = {10, 20}> {
      p = Mul(x, w) y = Mul(p, z) loss = ReduceSum <keepdims = 0> (y) })");
    model.info.metadata["__replicated_stream_mode/x"] = "1";
    TrainingOptions options = training_with({.accumulation_factor = accumulation, .replicas = 2}, 1);
    TrainingSession session(std::move(model), options);
    EXPECT_TRUE(session.inputs()[0].broadcast);
    // x is 1, 2 for both replicas, then 3, 4; z is 1 for the first replica and 10 for the second.
    std::vector<float> x{1, 2, 3, 4};
    std::vector<float> z{1, 1, 10, 10, 1, 1, 10, 10};
    x.resize(static_cast<std::size_t>(2 * accumulation));
    z.resize(static_cast<std::size_t>(4 * accumulation));
    const std::vector<ir::Datum> inputs{tensor<float>({std::ssize(x)}, x), tensor<float>({std::ssize(z)}, z)};
    session.run(inputs);
    const float times = accumulation == 1 ? 1 : 4;  // 1, or 1 + 3
    EXPECT_EQ(values<float>(session.weights().at("w"))[0], 10 - 11 * times);
    const std::vector<ir::Datum> too_many{tensor<float>({std::ssize(z)}, z),
                                          tensor<float>({std::ssize(z)}, z)};
    EXPECT_NE(testing::refusal([&] { session.run(too_many); }), "");
  }
}

// running_mean_counter_test.
std::vector<std::string> counters(const std::vector<int>& processors, bool pipelining) {
  constexpr const char* kLayers = R"(agraph (float[2] x) => (float loss)
    <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {5, 6}>
    { p = Mul(x, a) q = Mul(p, b) r = Mul(q, c) s = Tanh(r) loss = ReduceSum <keepdims = 0> (s) })";
  Strategy strategy{
      .accumulation_factor = 8, .reduction = Reduction::Mean, .mean_strategy = MeanStrategy::Running};
  if (!processors.empty()) strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  strategy.pipelining = pipelining;
  TrainingSession session(processors.empty() ? model_of(kLayers) : model_of(kLayers, processors),
                          training_with(strategy, 0.1));
  std::vector<std::string> found;
  for (const executor::Buffer& buffer : session.program().buffers) {
    if (buffer.persistent && buffer.name.starts_with("Counter___")) found.push_back(buffer.name);
  }
  return found;
}

TEST(AcceptanceRunningMean, HasACounterForEachVirtualGraphAndStage) {
  EXPECT_THAT(counters({}, false), ElementsAre("Counter___"));
  EXPECT_EQ(counters({0, 1, 1, 1, 1}, false).size(), 2U);
  // On the way back stages 2, 3, 4 are on processors 2, 1, 0.
  EXPECT_THAT(counters({0, 1, 2, 2, 2}, true),
              UnorderedElementsAre("Counter____VGraph2_PStage2", "Counter____VGraph1_PStage3",
                                   "Counter____VGraph0_PStage4"));
}

}  // namespace
}  // namespace podium::testing
