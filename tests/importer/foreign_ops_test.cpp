// What holds for every op of another domain: its placement, and training in every way of a model made of such
// ops.
#include "importer/foreign_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "executor/session/training_session.h"
#include "importer/import.h"
#include "ir/annotation.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using testing::model_of;
using testing::model_text;
using testing::tensor;

TEST(ForeignOps, GiveTheirPlaceToTheOpsThatTheyBecome) {
  const ir::Graph graph = model_of(
                              "g (float[2,4] x, float[4] s) => (float[] y) { y = "
                              "com.microsoft.SkipLayerNormalization <__ipu_number = 3> (x, x, s) }")
                              .graph;
  EXPECT_GT(graph.ops.size(), 1U);
  for (const ir::Op& op : graph.ops) {
    EXPECT_EQ(op.name, graph.ops[0].name);
    EXPECT_EQ(ir::attribute<std::int64_t>(op, ir::kVirtualGraph), 3);
  }
}

TEST(ForeignOps, AreListedByDomainAndName) {
  std::vector<std::pair<std::string_view, std::string_view>> listed;
  for (const importer::RewrittenOp& op : importer::rewritten_ops()) {
    listed.emplace_back(op.domain, op.name);
    EXPECT_NE(importer::find_foreign(op.domain, op.name), nullptr);
  }
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  EXPECT_THAT(listed, ::testing::Contains(std::pair{"com.microsoft", "Attention"}));
  EXPECT_THAT(listed, ::testing::Contains(std::pair{"ai.graphcore", "Ctc"}));
}

std::string constants(std::int64_t count, int seed) {
  std::string text = "{";
  for (std::int64_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(0.15 * static_cast<double>((7 * i + seed) % 11) - 0.7);
  return text + "}";
}

// A block of a decoder: attention, a sum that is normalised, a layer with a Gelu, another sum.
std::string block_of_a_decoder() {
  return "g (float[2,3,4] x, float[2,3,4] wanted) => (float loss) <float[4,12] wa = " + constants(48, 1) +
         ", float[12] ba = " + constants(12, 2) + ", float[4] g1 = " + constants(4, 3) +
         ", float[4] b1 = " + constants(4, 4) + ", float[4,4] wf = " + constants(16, 5) +
         ", float[4] bf = " + constants(4, 6) + ", float[4] g2 = " + constants(4, 7) + R"(> {
  a = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, wa, ba)
  n, , , s = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (a, x, g1, b1)
  f = com.microsoft.FusedMatMul <transB = 1> (n, wf)
  h = com.microsoft.BiasGelu (f, bf)
  m, , , t = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (h, s, g2)
  p = ai.graphcore.Gelu (m)
  d = Sub (p, wanted)
  loss = ai.graphcore.L1 <lambda = 1.0, reduction = "Mean"> (d)
})";
}

std::map<std::string, ir::Tensor> trained_weights(const Strategy& strategy) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  // The bias of the keys has no gradient but for rounding, which an optimizer that divides by it would blow
  // up.
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1, false}}});
  TrainingSession session(model_of(block_of_a_decoder()), options);
  const std::int64_t micro_batches =
      strategy.batches_per_step * strategy.accumulation_factor * strategy.replicas;
  for (int run = 0; run < 2; ++run) {
    std::vector<ir::Datum> inputs;
    for (const int seed : {run, run + 5}) {
      std::vector<float> values(static_cast<std::size_t>(micro_batches * 24));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.2F * static_cast<float>((5 * i + static_cast<std::size_t>(seed)) % 9) - 0.8F;
      inputs.emplace_back(tensor<float>({micro_batches * 24}, values));
    }
    session.run(inputs);
  }
  return session.weights();
}

TEST(ForeignOps, TrainToTheSameWeightsInEveryWay) {
  const Strategy alone{.batches_per_step = 2, .accumulation_factor = 4};
  const auto wanted = trained_weights(alone);
  std::map<std::string, Strategy> ways{
      {"sharded", alone}, {"pipelined", alone}, {"phased", alone}, {"recomputed", alone}};
  for (const char* way : {"sharded", "pipelined"}) {
    ways[way].virtual_graph_mode = VirtualGraphMode::Auto;
    ways[way].ipus = 2;
  }
  ways["pipelined"].pipelining = true;
  ways["phased"].virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  ways["phased"].phases.phases = 2;
  ways["recomputed"].recomputation = Recomputation::RecomputeAll;
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    const auto found = trained_weights(way);
    ASSERT_EQ(found.size(), 7U);
    for (const auto& [weight, tensor] : wanted) EXPECT_TRUE(identical(found.at(weight), tensor)) << weight;
  }
  // Replicas add their gradients in another order.
  Strategy replicated = alone;
  replicated.replicas = 2;
  replicated.accumulation_factor = 2;
  const auto found = trained_weights(replicated);
  for (const auto& [weight, tensor] : wanted) {
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      EXPECT_NEAR(found.at(weight).data<float>()[i], tensor.data<float>()[i], 1e-5) << weight;
  }
}

}  // namespace
}  // namespace podium
