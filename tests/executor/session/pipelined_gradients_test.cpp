// Gradients in pipelines that are tensors which exist for another reason: the activation that a weight is
// multiplied with, the weight itself, the gradient of a sum.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/session/acceptance.h"

namespace podium::testing {
namespace {

constexpr int kGradientBatches = 8;

// The loss is linear in c: its gradient is q, and that of q is c.
constexpr const char* kTanhProduct = "p = Mul(x, w) q = Tanh(p) r = Mul(q, c)";
// c, r and q have one gradient.
constexpr const char* kAdded = "p = Mul(x, w) q = Tanh(p) s = Add(q, c) r = Tanh(s)";

// `rows` samples a micro-batch; the first two ops are on processor 0, the others on processor 1.
importer::Model model(const char* layers, int rows, bool spread) {
  const std::string body = fmt::format(
      "agraph (float[{},2] x) => (float loss) <float[1,2] w = {{1, 2}}, float[1,2] c = {{0.5, 3}}>"
      "{{ {} loss = ReduceSum <keepdims = 0> (r) }}",
      rows, layers);
  const std::vector<int> processors =
      layers == kTanhProduct ? std::vector{0, 0, 1, 1} : std::vector{0, 0, 1, 1, 1};
  return spread ? model_of(body, processors) : model_of(body);
}

Strategy pipeline(int replicas, int accumulation) {
  Strategy options{.virtual_graph_mode = VirtualGraphMode::Manual,
                   .ipus = 2 * replicas,
                   .pipelining = true,
                   .batches_per_step = kGradientBatches / accumulation,
                   .accumulation_factor = accumulation,
                   .replicas = replicas};
  for (const char* name : {"Gradient___c", "Gradient___q", "Gradient___p"}) options.anchors[name] = {};
  return options;
}

Trained trained(const char* layers, int rows, const Strategy& options) {
  std::mt19937 random(5);
  const ir::Tensor x = random_tensor(random, {kGradientBatches, rows * options.replicas, 2}, -1, 1);
  return train(model(layers, rows, options.ipus > 0), training_with(options, 0.1), {{x}});
}

void expect_near(const ir::Tensor& found, const ir::Tensor& wanted, const std::string& name) {
  ASSERT_EQ(found.size(), wanted.size()) << name;
  EXPECT_LT(distance(found.reshaped({found.size()}), wanted.reshaped({wanted.size()})), 1e-5) << name;
}

TEST(PipelinedGradients, ThatAreOtherTensorsTrainAsOnOneProcessor) {
  for (const char* layers : {kTanhProduct, kAdded}) {
    for (const bool anchored : {false, true}) {
      Strategy strategy = pipeline(1, 4);
      if (!anchored) strategy.anchors.clear();
      const Strategy one{.batches_per_step = strategy.batches_per_step,
                         .accumulation_factor = strategy.accumulation_factor,
                         .anchors = strategy.anchors};
      const Trained wanted = trained(layers, 1, one);
      const Trained found = trained(layers, 1, strategy);
      ASSERT_EQ(wanted.outputs.size(), anchored ? 4U : 1U);
      for (const auto& [name, tensor] : wanted.outputs)
        EXPECT_TRUE(ir::identical(found.outputs.at(name), tensor)) << name;
      for (const auto& [name, tensor] : wanted.weights)
        EXPECT_TRUE(ir::identical(found.weights.at(name), tensor)) << name;
    }
  }
}

// Two replicas with a sample each reduce the gradients that one replica with both samples adds up by itself,
// where stages update their weights at once and where the pipeline runs empty before.
TEST(PipelinedGradients, ThatAreOtherTensorsAreReducedForTheUpdateAlone) {
  for (const char* layers : {kTanhProduct, kAdded}) {
    for (const int accumulation : {1, 4}) {
      SCOPED_TRACE(fmt::format("{}, accumulation {}", layers, accumulation));
      const Trained wanted = trained(layers, 2, pipeline(1, accumulation));
      const Trained found = trained(layers, 1, pipeline(2, accumulation));
      for (const auto& [name, tensor] : wanted.weights) expect_near(found.weights.at(name), tensor, name);
      for (const char* name : {"Gradient___p", "Gradient___q"})
        expect_near(found.outputs.at(name), wanted.outputs.at(name), name);
      // As an anchor each replica's own; that of c is the sum over the samples.
      const auto both = found.outputs.at("Gradient___c").values<float>();
      const auto sum = wanted.outputs.at("Gradient___c").values<float>();
      ASSERT_EQ(both.size(), 2 * sum.size());
      for (std::size_t i = 0; i < sum.size(); ++i)
        EXPECT_NEAR(both[i / 2 * 4 + i % 2] + both[i / 2 * 4 + 2 + i % 2], sum[i], 1e-5);
    }
  }
}

// The gradient of a sum is that of two weights on different processors.
TEST(PipelinedGradients, OfWeightsOnTwoProcessorsMayBeOne) {
  const auto trained_on = [](const Strategy& options, bool spread) {
    const std::string body =
        "agraph (float[2] x) => (float loss) <float[2] b = {1, 2}, float[2] c = {0.5, 3}>"
        "{ p = Tanh(x) q = Add(p, b) r = Add(q, c) s = Tanh(r) loss = ReduceSum <keepdims = 0> (s) }";
    std::mt19937 random(6);
    const ir::Tensor x = random_tensor(random, {kGradientBatches, 2}, -1, 1);
    return train(spread ? model_of(body, {0, 0, 1, 1, 1}) : model_of(body), training_with(options, 0.1),
                 {{x}})
        .weights;
  };
  Strategy strategy = pipeline(1, 4);
  strategy.anchors.clear();
  const Strategy one{.batches_per_step = 2, .accumulation_factor = 4};
  const TensorsByName wanted = trained_on(one, false);
  for (const auto& [name, tensor] : trained_on(strategy, true))
    EXPECT_TRUE(ir::identical(tensor, wanted.at(name)));
  strategy.pipelining = false;
  for (const auto& [name, tensor] : trained_on(strategy, true))
    EXPECT_TRUE(ir::identical(tensor, wanted.at(name)));
}

}  // namespace
}  // namespace podium::testing
