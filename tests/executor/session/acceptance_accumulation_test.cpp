// A batch of 12 samples in four micro-batches of three trains as in one (PopART's
// gradient_accumulation_test).
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/model_weights.h"
#include "tests/executor/session/acceptance.h"
#include "tests/support/run_program.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

constexpr int kAccumulatedSamples = 12;
constexpr int kWidth = 16;
constexpr int kRunningLayers = 6;

// A model of `samples` a micro-batch.
using MakeModel = importer::Model (*)(int samples);

// Six products of 16 x 16, the last two on a processor of their own.
importer::Model products(int samples) {
  std::mt19937 random(1234);
  std::vector<std::string> weights;
  std::string ops;
  std::vector<int> processors;
  for (int i = 0; i < kRunningLayers; ++i) {
    weights.push_back(
        initializer(fmt::format("weight{}", i), {kWidth, kWidth}, random_numbers(random, 256, 0.9F, 1)));
    ops += fmt::format("x{} = MatMul(x{}, weight{}) ", i + 1, i, i);
    processors.push_back(i > 3 ? 1 : 0);
  }
  processors.insert(processors.end(), {1, 1});
  return model_of(fmt::format("agraph (float[{0},16] x0, int64[{0}] label) => (float loss) <{1}> {{ {2}"
                              "logarithm = Log(x6)"
                              "loss = NegativeLogLikelihoodLoss <reduction = \"sum\"> (logarithm, label) }}",
                              samples, fmt::join(weights, ", "), ops),
                  processors);
}

importer::Model convolution_with(int samples, std::string_view loss) {
  return model_of(fmt::format(
      "agraph (float[{0},2,4,4] x, int64[{0}] label) => (float loss) <{1}, int64[2] shape = {{{0}, 32}}> {{"
      "s = Sin(x) e = Exp(s) c = Conv <pads = [1,1,1,1]> (e, weight0) r = Reshape(c, shape)"
      "o = Softmax <axis = 1> (r) {2} }}",
      samples, initializer("weight0", {2, 2, 3, 3}, std::vector<float>(36, 1)), loss));
}

// The sum of a softmax is what it is, so only the decay moves the weight.
importer::Model convolution(int samples) {
  return convolution_with(samples, "loss = ReduceSum <keepdims = 0> (o)");
}

// The same with a gradient.
importer::Model learning_convolution(int samples) {
  return convolution_with(samples,
                          "logarithm = Log(o)"
                          "loss = NegativeLogLikelihoodLoss <reduction = \"sum\"> (logarithm, label)");
}

TrainingOptions with_optimizer(std::string_view kind, const ir::OptimizerValues& values, int accumulation,
                               int batches) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = {.batches_per_step = batches, .accumulation_factor = accumulation};
  options.optimizer = ir::make_optimizer(kind, values);
  return options;
}

TrainingOptions accumulating_sgd(int accumulation, int batches) {
  return with_optimizer("SGD", {{"learningRate", {0.12, false}}, {"weightDecay", {0.08, false}}},
                        accumulation, batches);
}

TrainingOptions adam(int accumulation, int batches) {
  return with_optimizer("Adam",
                        {{"learningRate", {0.12, false}},
                         {"beta1", {0.9, false}},
                         {"beta2", {0.999, false}},
                         {"weightDecay", {0.08, false}},
                         {"eps", {1e-6, true}}},
                        accumulation, batches);
}

TrainingOptions momentum(int accumulation, int batches) {
  return with_optimizer("SGD", {{"learningRate", {0.1, false}}, {"momentum", {0.9, true}}}, accumulation,
                        batches);
}

// As PopART's explicit main loops are asked for: they are how a compiler arranges the same steps.
TrainingOptions with_explicit_loops(TrainingOptions options) {
  Notes notes;
  options.session.strategy = read_options(
      R"({"enableExplicitMainLoops": true, "useHostCopyOps": true, "explicitRecomputation": true})", "loops",
      notes, options.session.strategy);
  EXPECT_EQ(notes.size(), 3U);  // each says why it has no effect
  return options;
}

// The same samples however they are cut: of the image or of the row that the first input holds.
std::vector<std::vector<ir::Datum>> samples(const importer::Model& model, int batches, int steps) {
  std::mt19937 random(99);
  const std::int64_t sample = model.graph[model.graph.inputs[0]].type.element_count() /
                              model.graph[model.graph.inputs[0]].type.dims[0];
  const std::int64_t count = std::int64_t{batches} * kAccumulatedSamples;
  std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(7 * i % kWidth);
  const ir::Datum x = random_tensor(random, {count * sample}, 0.9F, 1);
  return {static_cast<std::size_t>(steps), {x, tensor<std::int64_t>({count}, labels)}};
}

// Arrays in the shape of one micro-batch where there is only one.
std::vector<std::vector<ir::Datum>> shaped(std::vector<std::vector<ir::Datum>> runs,
                                           const importer::Model& model, int micro_batches) {
  if (micro_batches > 1) return runs;
  for (std::vector<ir::Datum>& inputs : runs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = inputs[i].tensor.reshaped(model.graph[model.graph.inputs[i]].type.dims);
    }
  }
  return runs;
}

Trained train_made(MakeModel make, const TrainingOptions& options, int steps) {
  const Strategy& strategy = options.session.strategy;
  importer::Model model = make(kAccumulatedSamples / strategy.accumulation_factor);
  const auto runs = shaped(samples(model, strategy.batches_per_step, steps), model,
                           strategy.accumulation_factor * strategy.batches_per_step);
  return testing::train(std::move(model), options, runs);
}

// What the weights began with.
TensorsByName weights_of_made(MakeModel make) {
  const importer::Model model = make(1);
  TensorsByName weights;
  for (const ir::Value& value : model.graph.values) {
    if (value.constant && value.name.starts_with("weight")) weights[value.name] = *value.constant;
  }
  return weights;
}

// Apart by less than 1e-5 of the way they have gone, which is a way of more than 1e-3.
void expect_same(const Trained& a, const Trained& b, const TensorsByName& before) {
  for (const auto& [name, start] : before) {
    const double way = distance(a.weights.at(name), start);
    EXPECT_GT(way, 1e-3) << name;
    EXPECT_GT(distance(b.weights.at(name), start), 1e-3) << name;
    EXPECT_LT(distance(a.weights.at(name), b.weights.at(name)) / way, 1e-5) << name;
  }
}

TEST(Accumulation, OfFourMicroBatchesOfThreeIsOneBatchOfTwelve) {
  for (const MakeModel make : {convolution, products}) {
    const Trained whole = train_made(make, accumulating_sgd(1, 1), 1);
    expect_same(train_made(make, accumulating_sgd(4, 1), 1), whole, weights_of_made(make));
    expect_same(train_made(make, with_explicit_loops(accumulating_sgd(4, 1)), 1), whole,
                weights_of_made(make));
  }
}

TEST(Accumulation, IsTheSameOverThreeStepsOfFiveBatches) {
  for (const MakeModel make : {products, convolution}) {
    const Trained whole = train_made(make, accumulating_sgd(1, 5), 3);
    expect_same(train_made(make, accumulating_sgd(4, 5), 3), whole, weights_of_made(make));
    expect_same(train_made(make, with_explicit_loops(accumulating_sgd(4, 5)), 3), whole,
                weights_of_made(make));
  }
}

TEST(Accumulation, IsTheSameOnTwoProcessors) {
  TrainingOptions two = accumulating_sgd(4, 5);
  two.session.strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  two.session.strategy.ipus = 2;
  const Trained one = train_made(products, accumulating_sgd(1, 5), 3);
  expect_same(train_made(products, two, 3), one, weights_of_made(products));
  expect_same(train_made(products, with_explicit_loops(two), 3), one, weights_of_made(products));
}

TEST(Accumulation, OfAdamIsOneBatchOfTwelve) {
  for (const MakeModel make : {convolution, products}) {
    expect_same(train_made(make, adam(4, 1), 1), train_made(make, adam(1, 1), 1), weights_of_made(make));
  }
}

// Of the convolution as it learns from labels: without them its gradient is what rounding leaves of 0, and
// Adam makes steps of any gradient.
TEST(Accumulation, OfAdamIsTheSameOverThreeStepsOfFiveBatches) {
  for (const MakeModel make : {learning_convolution, products}) {
    expect_same(train_made(make, adam(4, 5), 3), train_made(make, adam(1, 5), 3), weights_of_made(make));
  }
}

TEST(Accumulation, IsRefusedWithoutTraining) {
  EXPECT_EQ(inference_refusal(products(3), {.batches_per_step = 5, .accumulation_factor = 4}),
            "accumulationFactor: 4 found, 1 needed: gradient accumulation is only available when training");
}

TEST(Accumulation, OfAFactorBesideASwitchThatIsOffIsRefused) {
  Notes notes;
  try {
    read_options(R"({"enableGradientAccumulation": false, "accumulationFactor": 4})", "options", notes);
    FAIL() << "a factor without accumulation passed";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "options: accumulationFactor: 4 found, 1 needed because enableGradientAccumulation is false");
  }
}

// A session on the products, after a step where asked for, and the model that it saves.
importer::Model saved(importer::Model model, const TrainingOptions& options, int steps) {
  const TemporaryFolder folder;
  const auto runs = samples(model, options.session.strategy.batches_per_step, steps);
  TrainingSession session(std::move(model), options);
  for (const std::vector<ir::Datum>& inputs : runs) session.run(inputs);
  session.model_to_file(folder.file("saved.onnx"));
  importer::Model read = importer::import_model(folder.file("saved.onnx"));
  return read;
}

TensorsByName initializers(const importer::Model& model) {
  TensorsByName found;
  for (const ir::Value& value : model.graph.values) {
    if (value.constant && ir::is_float(value.type.element)) found[value.name] = *value.constant;
  }
  return found;
}

TEST(Accumulation, IsSavedAsSixWeightsAndSixAccumulatorsOfTheirNames) {
  const TensorsByName found = initializers(saved(products(3), momentum(4, 5), 3));
  EXPECT_EQ(found.size(), 12U);
  for (int i = 0; i < kRunningLayers; ++i) {
    const std::string weight = fmt::format("weight{}", i);
    ASSERT_TRUE(found.contains(weight));
    ASSERT_TRUE(found.contains("Accl___" + weight));
    EXPECT_EQ(found.at("Accl___" + weight).dims(), found.at(weight).dims());
  }
}

// The velocity begins with the decay of the weight: here 0.08 times it.
TEST(Accumulation, BeginsWithTheDecayOfTheWeights) {
  TrainingOptions options = momentum(4, 1);
  options.optimizer = ir::make_optimizer(
      "SGD", {{"learningRate", {0.1, false}}, {"momentum", {0.9}}, {"weightDecay", {0.08}}});
  const TensorsByName found = initializers(saved(products(3), options, 0));
  for (const auto& [name, weight] : weights_of_made(products)) {
    const auto velocity = found.at("Accl___" + name).values<float>();
    for (std::size_t i = 0; i < velocity.size(); ++i) {
      EXPECT_NEAR(velocity[i], 0.08 * static_cast<double>(weight.values<float>()[i]), 1e-8);
    }
  }
}

TEST(Accumulation, IsRestoredExactlyFromASavedModel) {
  const TrainingOptions options = momentum(4, 1);
  const TensorsByName before = initializers(saved(products(3), options, 0));
  importer::Model after = saved(products(3), options, 1);
  const TensorsByName trained = initializers(after);
  const TensorsByName loaded = initializers(saved(std::move(after), options, 0));
  ASSERT_EQ(loaded.size(), 12U);
  for (const auto& [name, tensor] : trained) {
    EXPECT_FALSE(ir::identical(tensor, before.at(name))) << name;
    EXPECT_TRUE(ir::identical(loaded.at(name), tensor)) << name;
  }
}

TEST(Accumulation, GoesOnFromASavedModelAsIfNothingHadHappened) {
  const TrainingOptions options = momentum(4, 1);
  const TensorsByName whole = initializers(saved(products(3), options, 3));
  const TensorsByName parts = initializers(saved(saved(products(3), options, 1), options, 2));
  for (const auto& [name, tensor] : whole) EXPECT_TRUE(ir::identical(parts.at(name), tensor)) << name;
}

}  // namespace
}  // namespace podium::testing
