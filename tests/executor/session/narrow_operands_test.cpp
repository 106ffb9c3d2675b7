// Products by weights with operands in blocks of 8 bits give the numbers of one processor, however they are
// spread: a block's power of two depends on its own 32 numbers alone, and cuts go between blocks.
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "models/catalog.h"
#include "tests/executor/session/acceptance.h"
#include "tests/support/text_model.h"

namespace podium::testing {
namespace {

constexpr int kRounds = 2;

importer::Model decoder_of(models::Parameters parameters) {
  parameters.insert({{"kv_heads", "0"}, {"loss", "cross-entropy"}});
  importer::Model model;
  model.graph = models::build("llama", parameters).graph;
  return model;
}

importer::Model narrow_decoder() {
  return decoder_of({{"layers", "2"},
                     {"hidden", "64"},
                     {"heads", "2"},
                     {"inner", "128"},
                     {"sequence", "64"},
                     {"vocabulary", "64"}});
}

std::vector<ir::Datum> narrow_inputs() {
  std::mt19937 random(3);
  std::vector<ir::Datum> inputs;
  for (int input = 0; input < 2; ++input) {
    ir::Tensor words(ir::DataType::Int64, {4, 64});
    for (std::int64_t& word : words.values<std::int64_t>()) word = static_cast<std::int64_t>(random() % 64);
    inputs.emplace_back(std::move(words));
  }
  return inputs;
}

TrainingOptions with_operands(Operands operands, Strategy strategy = {}) {
  strategy.operands = operands;
  strategy.accumulation_factor = 4 / strategy.replicas;
  TrainingOptions options = training_with(strategy, 0.05);
  options.loss = "loss";
  options.session.device = *device::find_preset("h100");
  return options;
}

Trained trained_narrow(const TrainingOptions& options) {
  const std::vector<ir::Datum> inputs = narrow_inputs();
  return train(narrow_decoder(), options, std::vector(kRounds, inputs));
}

TEST(NarrowOperands, TrainAsOneProcessorHoweverTheyAreSpread) {
  const Trained alone = trained_narrow(with_operands(Operands::MxFp8));
  std::map<std::string, Strategy> spread;
  spread["replicas"] = {.ipus = 2, .replicas = 2};
  spread["pipeline"] = {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .pipelining = true};
  spread["tensors"] = {.tensor_parallel = {.devices = 2}, .ipus = 2};
  spread["tensors and tokens"] = {.tensor_parallel = {.devices = 2, .cuts_tokens = true}, .ipus = 2};
  spread["tokens"] = {.tensor_parallel = {.context_groups = 2}, .ipus = 2};
  for (const auto& [name, strategy] : spread) {
    const Trained found = trained_narrow(with_operands(Operands::MxFp8, strategy));
    for (const auto& [weight, expected] : alone.weights)
      EXPECT_LT(distance(found.weights.at(weight), expected), 2e-3) << name << ": " << weight;
  }
}

TEST(NarrowOperands, AreOtherNumbersThanTheModelsAndNearThem) {
  const ir::Tensor narrow = trained_narrow(with_operands(Operands::MxFp8)).outputs.at("loss");
  const ir::Tensor wide = trained_narrow(with_operands(Operands::AsStored)).outputs.at("loss");
  ASSERT_EQ(narrow.dims(), wide.dims());
  EXPECT_FALSE(ir::identical(narrow, wide));
  for (std::int64_t i = 0; i < wide.size(); ++i)
    EXPECT_NEAR(narrow.data<float>()[i], wide.data<float>()[i], 0.05 * wide.data<float>()[i]);
}

}  // namespace
}  // namespace podium::testing
