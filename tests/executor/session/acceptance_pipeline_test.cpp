// Pipelines that infer and train: how long they have to be, what they refuse, and that they compute what one
// processor does (PopART's pipeline_test, pipeline_grad_accl_test and pipeline_recompute_numerical_test).
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/annotation.h"
#include "tests/executor/session/acceptance.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;
using Runs = std::vector<std::vector<ir::Datum>>;

// Sine | exponential, convolution | softmax and loss, one processor each; of inputs of integers after a cast.
constexpr const char* kConvolution =
    "agraph ({type}[2,2,4,4] x, int64[2] label) => (float loss) <{weight}, int64[2] shape = {{2, 32}}> {{"
    "f = Cast <to = 1> (x) s = Sin(f) e = Exp(s) c = Conv <pads = [1,1,1,1]> (e, w)"
    "r = Reshape(c, shape) o = Softmax <axis = 1> (r) l = Log(o) loss = NegativeLogLikelihoodLoss(l, label) "
    "}}";

importer::Model convolution(const std::string& type, bool spread) {
  const std::string body =
      fmt::format(fmt::runtime(kConvolution), fmt::arg("type", type),
                  fmt::arg("weight", initializer("w", {2, 2, 3, 3}, std::vector<float>(36, 1))));
  return spread ? model_of(body, {0, 0, 1, 1, 2, 2, 2, 2}) : model_of(body);
}

template <class T>
ir::Datum integers_of(const ir::Tensor& numbers) {
  std::vector<T> whole;
  for (const float number : numbers.values<float>()) whole.push_back(static_cast<T>(std::fabs(number)));
  return tensor<T>(numbers.dims(), whole);
}

// `batches` of the convolution's images, uniform from -10 to 10, and their labels.
Runs images(const std::string& type, std::int64_t batches, int runs = 1) {
  std::mt19937 random(1);
  Runs result;
  for (int i = 0; i < runs; ++i) {
    const ir::Tensor x = random_tensor(random, {batches, 2, 2, 4, 4}, -10, 10);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(batches) * 2);
    for (std::int64_t& label : labels) label = static_cast<std::int64_t>(random() % 32);
    result.push_back({x, tensor<std::int64_t>({batches, 2}, labels)});
    if (type == "int8") result.back()[0] = integers_of<std::int8_t>(x);
    if (type == "uint8") result.back()[0] = integers_of<std::uint8_t>(x);
  }
  return result;
}

ir::Tensor infer(importer::Model model, const Strategy& options, const std::vector<ir::Datum>& inputs) {
  InferenceSession session(std::move(model), {.fuse = false, .strategy = options});
  return session.run(inputs)[0].tensor.clone();
}

// Fill and flush alone, where PopART refuses.
TEST(PipelineLength, OfInferenceMayBeLessThanTheThreeStages) {
  for (const int batches : {2, 3}) {
    const Runs runs = images("float", batches, 2);
    for (const std::vector<ir::Datum>& inputs : runs) {
      const ir::Tensor wanted = infer(convolution("float", false), {.batches_per_step = batches}, inputs);
      const ir::Tensor found = infer(convolution("float", true), pipeline_of(3, batches), inputs);
      EXPECT_EQ(values<float>(found), values<float>(wanted)) << batches;
    }
  }
}

// Five ops; the loss is the sum.
importer::Model five_ops(const std::vector<int>& processors, const std::vector<int>& stages) {
  return model_of(
      "agraph (float[2] x) => (float loss) <float[2] w = {1, 1}>"
      "{ s = Sin(x) m = Mul(s, w) e = Exp(m) g = Exp(e) loss = ReduceSum <keepdims = 0> (g) }",
      processors, stages);
}

TEST(PipelineStages, OnTwoProcessorsAreRefusedByTheirNodes) {
  const std::string message =
      training_refusal(five_ops({0, 0, 0, 1, 1}, {0, 0, 1, 1, 1}), training_with(pipeline_of(2, 5), 0.01));
  EXPECT_THAT(message, HasSubstr("have the same pipeline stage 1, but are on virtual graphs 0 and 1"));
}

TEST(PipelineStages, OnSomeNodesOnlyAreRefusedByTheOthers) {
  importer::Model model = five_ops({0, 0, 1, 1, 1}, {0, 0, 1, 1, 1});
  ir::remove_attribute(model.graph.ops[2], ir::kPipelineStage);
  EXPECT_THAT(training_refusal(std::move(model), training_with(pipeline_of(2, 5), 0.01)),
              HasSubstr("only some nodes have a pipeline stage: 1 have none: "));
}

TEST(PipelineStages, WithoutVirtualGraphsAreRefused) {
  Strategy strategy = pipeline_of(0, 10);
  strategy.virtual_graph_mode = VirtualGraphMode::Off;
  const std::string message =
      "enablePipelining needs virtualGraphMode Manual or Auto (--virtual-graph-mode auto), Off found";
  EXPECT_EQ(training_refusal(five_ops({0, 0, 0, 1, 1}, {}), training_with(strategy, 0.01)), message);
  EXPECT_EQ(inference_refusal(five_ops({0, 0, 0, 1, 1}, {}), strategy), message);
}

TEST(PipelineStages, OnOneProcessorAreRefused) {
  const importer::Model model = five_ops({0, 0, 0, 0, 0}, {0, 0, 1, 1, 1});
  EXPECT_EQ(training_refusal(model, training_with(pipeline_of(0, 10), 0.01)),
            "pipelining needs more than 1 processor, all nodes are on one");
  EXPECT_EQ(training_refusal(model, training_with(pipeline_of(1, 10), 0.01)),
            "pipelining needs more than 1 processor, 1 found");
}

TEST(PipelinedInference, GivesTheNumbersOfOneProcessor) {
  for (const char* type : {"float", "int8", "uint8"}) {
    const std::vector<ir::Datum> inputs = images(type, 8)[0];
    const ir::Tensor one = infer(convolution(type, false), {.batches_per_step = 8}, inputs);
    EXPECT_EQ(one.dims(), ir::Dims{8});
    Strategy sharded = pipeline_of(3, 8);
    sharded.pipelining = false;
    EXPECT_TRUE(ir::identical(infer(convolution(type, true), sharded, inputs), one)) << type;
    EXPECT_TRUE(ir::identical(infer(convolution(type, true), pipeline_of(3, 8), inputs), one)) << type;
  }
}

// From micro-batch 1 on the exponential of later micro-batches has met older weights.
TEST(PipelinedTraining, WithoutAccumulationGivesTheNumbersOfOneProcessorForTheFirstMicroBatchOnly) {
  for (const char* type : {"float", "int8", "uint8"}) {
    Strategy one{.batches_per_step = 8};
    for (const char* name : {"w", "e", "Gradient___f"}) one.anchors[name] = {};
    Strategy sharded = pipeline_of(3, 8);
    sharded.pipelining = false;
    Strategy pipelined = pipeline_of(3, 8);
    sharded.anchors = pipelined.anchors = one.anchors;
    const auto trained = [&](const Strategy& strategy, bool spread) {
      return train(convolution(type, spread), training_with(strategy, 0.01), images(type, 8)).outputs;
    };
    const TensorsByName wanted = trained(one, false);
    const TensorsByName apart = trained(sharded, true);
    const TensorsByName stale = trained(pipelined, true);
    ASSERT_EQ(wanted.size(), 4U);
    for (const auto& [name, tensor] : wanted) {
      EXPECT_TRUE(ir::identical(apart.at(name), tensor)) << name;
      const auto first = tensor.values<float>().first(tensor.values<float>().size() / 8);
      EXPECT_TRUE(std::equal(first.begin(), first.end(), stale.at(name).values<float>().begin())) << name;
    }
    EXPECT_FALSE(ir::identical(stale.at("loss"), wanted.at("loss")));
  }
}

// PopART names what a backward stage takes out of a stash Restored___x. Here it is the slot of the stash
// itself: the gradient of the factor of an activation, where nothing is done to it on the way back, shows
// what was there.
TEST(PipelinedTraining, BackwardStagesReadWhatForwardStagesOfTheirMicroBatchMade) {
  std::mt19937 random(2);
  importer::Model model = model_of(
      "agraph (float[4] x) => (float loss) <float[4] p = {1,1,1,1}, float[4] q = {1,1,1,1}>"
      "{ a = Mul(x, p) s = Sin(x) e = Exp(s) b = Mul(e, q) c = Add(a, b) loss = ReduceSum <keepdims = 0> (c) "
      "}",
      {0, 0, 1, 1, 2, 2});
  Strategy strategy = pipeline_of(3, 8);
  for (const char* name : {"x", "e", "Gradient___p", "Gradient___q"}) strategy.anchors[name] = {};
  const ir::Tensor x = random_tensor(random, {8, 4}, -10, 10);
  const TensorsByName found = train(std::move(model), training_with(strategy, 0.01), {{x}}).outputs;
  EXPECT_TRUE(ir::identical(found.at("Gradient___p"), found.at("x")));
  EXPECT_TRUE(ir::identical(found.at("Gradient___q"), found.at("e")));
  EXPECT_TRUE(ir::identical(found.at("x"), x.reshaped({1, 8, 4})));
}

TEST(PipelinedInference, GoesBackwardsThroughTheProcessors) {
  const importer::Model model =
      model_of("agraph (float[2] x) => (float[2] y) { s = Sin(x) m = Mul(s, x) e = Exp(m) y = Exp(e) }",
               {1, 1, 0, 0}, {0, 0, 1, 1});
  const std::vector<ir::Datum> inputs{tensor<float>({2, 2}, {0.5F, 1, 0.25F, 0.75F})};
  const ir::Tensor y = infer(model, pipeline_of(2, 2), inputs);
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = inputs[0].tensor.values<float>()[i];
    EXPECT_NEAR(y.values<float>()[i], std::exp(std::exp(std::sin(x) * x)), 1e-5);
  }
}

// Two products with one weight around a sine on another processor.
importer::Model there_and_back(const std::string& type, bool spread) {
  const std::string body = fmt::format(
      "agraph ({}[2,2] x) => (float[2,2] y, float loss) <float[2,2] w = {{0.1, 0.7, 0.4, 0.9}}> {{"
      "f = Cast <to = 1> (x) a = MatMul(f, w) s = Sin(a) y = MatMul(s, w) loss = ReduceSum <keepdims = 0> "
      "(y) }}",
      type);
  return spread ? model_of(body, {0, 0, 1, 0, 0}, {0, 0, 1, 2, 2}) : model_of(body);
}

TEST(PipelinedInference, ComesBackToAProcessor) {
  std::mt19937 random(3);
  const std::vector<ir::Datum> inputs{random_tensor(random, {4, 2, 2}, 0, 1)};
  const ir::Tensor one = infer(there_and_back("float", false), {.batches_per_step = 4}, inputs);
  EXPECT_TRUE(ir::identical(infer(there_and_back("float", true), pipeline_of(2, 4), inputs), one));
}

// Both stages of the processor add up what they make of the weight's gradient: in another order than one.
TEST(PipelinedTraining, WithAccumulationComesBackToAProcessorWithTheSumsOfOne) {
  std::mt19937 random(3);
  const ir::Tensor floats = random_tensor(random, {5, 2, 2}, 0, 9);
  const std::map<std::string, ir::Datum> inputs{{"float", floats},
                                                {"int8", integers_of<std::int8_t>(floats)},
                                                {"uint8", integers_of<std::uint8_t>(floats)}};
  for (const auto& [type, x] : inputs) {
    const Trained one =
        train(there_and_back(type, false), training_with({.accumulation_factor = 5}, 0.1), {{x}});
    const Trained two = train(there_and_back(type, true), training_with(pipeline_of(2, 1, 5), 0.1), {{x}});
    EXPECT_TRUE(ir::identical(two.outputs.at("loss"), one.outputs.at("loss"))) << type;
    EXPECT_LT(distance(two.weights.at("w"), one.weights.at("w")), 1e-5) << type;
    EXPECT_GT(distance(one.weights.at("w"), tensor<float>({2, 2}, {0.1F, 0.7F, 0.4F, 0.9F})), 0.1) << type;
  }
}

// Two products of ones on each of three processors, 32 samples a batch.
importer::Model products(bool spread) {
  std::vector<std::string> weights;
  std::string ops;
  for (int i = 0; i < 6; ++i) {
    weights.push_back(initializer(fmt::format("w{}", i), {16, 16}, std::vector<float>(256, 1)));
    ops += fmt::format("x{} = MatMul(x{}, w{}) ", i + 1, i, i);
  }
  const std::string body = fmt::format(
      "agraph (float[4,16] x0, int64[4] label) => (float loss) <{}> {{ {}"
      "l = Log(x6) loss = NegativeLogLikelihoodLoss(l, label) }}",
      fmt::join(weights, ", "), ops);
  return spread ? model_of(body, {0, 0, 1, 1, 2, 2, 2, 2}) : model_of(body);
}

void expect_same_anchors(const Trained& found, const Trained& wanted) {
  ASSERT_EQ(found.outputs.size(), wanted.outputs.size());
  for (const auto& [name, tensor] : wanted.outputs) {
    EXPECT_TRUE(ir::identical(found.outputs.at(name), tensor)) << name;
  }
  for (const auto& [name, tensor] : wanted.weights) {
    EXPECT_TRUE(ir::identical(found.weights.at(name), tensor)) << name;
  }
}

TEST(PipelinedTraining, OfProductsWithAccumulationGivesTheNumbersOfOneProcessor) {
  Strategy one{.batches_per_step = 8, .accumulation_factor = 8};
  Strategy three = pipeline_of(3, 8, 8);
  for (Strategy* options : {&one, &three}) options->anchors = {{"w5", {}}, {"Gradient___x6", {}}};
  std::vector<std::int64_t> labels(256);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(5 * (i % 32) % 16);
  const Runs runs{
      {tensor<float>({64, 4, 16}, std::vector<float>(4096, 1)), tensor<std::int64_t>({256}, labels)}};
  const Trained wanted = train(products(false), training_with(one, 0.01), runs);
  EXPECT_EQ(wanted.outputs.at("w5").dims(), (ir::Dims{1, 8, 8, 16, 16}));
  expect_same_anchors(train(products(true), training_with(three, 0.01), runs), wanted);
}

TEST(PipelinedTraining, OfAConvolutionWithAccumulationGivesTheNumbersOfOneProcessor) {
  Strategy one{.batches_per_step = 8, .accumulation_factor = 8};
  Strategy three = pipeline_of(3, 8, 8);
  for (Strategy* options : {&one, &three}) {
    for (const char* name : {"w", "e", "s", "c", "Gradient___f"}) options->anchors[name] = {};
  }
  const Runs runs = images("float", 64, 6);
  const Trained wanted = train(convolution("float", false), training_with(one, 0.01), runs);
  expect_same_anchors(train(convolution("float", true), training_with(three, 0.01), runs), wanted);
}

TEST(PipelinedTraining, OfFewerMicroBatchesThanStagesGivesTheNumbersOfOneProcessor) {
  for (const int micro_batches : {2, 3, 4}) {
    Strategy one{.batches_per_step = 3, .accumulation_factor = micro_batches};
    Strategy three = pipeline_of(3, 3, micro_batches);
    for (Strategy* options : {&one, &three}) {
      for (const char* name : {"w", "e", "s", "c", "Gradient___f"}) options->anchors[name] = {};
    }
    const Runs runs = images("float", 3 * micro_batches, 2);
    const Trained wanted = train(convolution("float", false), training_with(one, 0.01), runs);
    expect_same_anchors(train(convolution("float", true), training_with(three, 0.01), runs), wanted);
  }
}

// A product, a sigmoid and a factor on the first processor, the loss on the second: 0.159 times the
// magnitudes.
importer::Model sigmoid(bool spread) {
  std::mt19937 random(1011);
  const std::string body = fmt::format(
      "agraph (float[2,8,8] x) => (float loss) <{}, float two = {{2}}, float lambda = {{0.159}}>"
      "{{ a = Mul(x, w) s = Sigmoid(a) y = Mul(s, two) m = Abs(y) l = ReduceMean <keepdims = 0> (m)"
      "   loss = Mul(l, lambda) }}",
      initializer("w", {8, 8}, random_numbers(random, 64, -1, 1)));
  return spread ? model_of(body, {0, 0, 0, 1, 1, 1}) : model_of(body);
}

// PopART counts ops that restore: one for each tensor that a later stage takes out of a stash. Here a step of
// that stage reads the slot itself, so the stashes are counted.
int stashes(const Strategy& strategy, bool spread) {
  const TrainingSession session(sigmoid(spread), training_with(strategy, 0.04));
  const std::vector<executor::Buffer>& buffers = session.program().buffers;
  return static_cast<int>(std::count_if(buffers.begin(), buffers.end(), [](const executor::Buffer& buffer) {
    return buffer.role == executor::Role::Stash;
  }));
}

TEST(PipelinedTraining, WithRecomputationGivesTheNumbersOfOneProcessorAndStashesOneTensorInsteadOfTwo) {
  std::mt19937 random(57);
  Runs runs;
  for (int step = 0; step < 2; ++step) runs.push_back({random_tensor(random, {3, 2, 8, 8}, -1, 1)});
  const Strategy one{.accumulation_factor = 3};
  const Strategy pipelined = pipeline_of(2, 1, 3);
  Strategy recomputed = pipelined;
  recomputed.recomputation = Recomputation::Pipeline;
  Strategy standard = pipelined;  // of so few ops every one is a checkpoint
  standard.recomputation = Recomputation::Standard;
  EXPECT_EQ(stashes(one, false), 0);
  EXPECT_EQ(stashes(pipelined, true), 2);
  EXPECT_EQ(stashes(recomputed, true), 1);
  const ir::Tensor wanted = train(sigmoid(false), training_with(one, 0.04), runs).weights.at("w");
  std::mt19937 again(1011);
  const double way = distance(wanted, random_tensor(again, {8, 8}, -1, 1));
  EXPECT_GT(way, 1e-6);
  for (const Strategy& strategy : {pipelined, recomputed, standard}) {
    const ir::Tensor found = train(sigmoid(true), training_with(strategy, 0.04), runs).weights.at("w");
    EXPECT_LT(distance(found, wanted) / way, 1e-8);
  }
}

}  // namespace
}  // namespace podium::testing
