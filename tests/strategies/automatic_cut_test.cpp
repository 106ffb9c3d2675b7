// Automatic placement of a language model is held against every way to cut it between its layers, by the
// clock.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>

#include "executor/device/presets.h"
#include "executor/session/training_session.h"
#include "ir/annotation.h"
#include "models/catalog.h"

namespace podium {
namespace {

// GPT-2 in its own proportions, a table of words that is its head as well.
importer::Model language_model(int layers) {
  importer::Model model;
  model.graph =
      models::build("gpt2",
                    {{"layers", std::to_string(layers)}, {"weights", "none"}, {"loss", "cross-entropy"}})
          .graph;
  return model;
}

// The embeddings are 0, the layers 1 to `layers`, and what follows is one more.
int block_of(const std::string& op, int layers) {
  int layer = 0;
  if (op.starts_with("wte/") || op.starts_with("wpe/") || op == "Add") return 0;
  const char* const digits = op.data() + 1;
  const bool is_layer = op[0] == 'h' && std::from_chars(digits, op.data() + op.size(), layer).ptr != digits;
  return is_layer ? layer + 1 : layers + 1;
}

// Part i + 1 begins with block cuts[i].
void place_blocks(importer::Model& model, const std::vector<int>& cuts, int layers) {
  for (ir::Op& op : model.graph.ops) {
    const int block = block_of(op.name, layers);
    const std::int64_t part = std::upper_bound(cuts.begin(), cuts.end(), block) - cuts.begin();
    ir::set_attribute(op, ir::kVirtualGraph, part);
    ir::set_attribute(op, ir::kPipelineStage, part);
  }
}

SessionOptions pipeline_over(int ipus, VirtualGraphMode mode) {
  SessionOptions options{.device = *device::find_preset("ipu-m2000"), .clock = true, .estimate = true};
  options.strategy.virtual_graph_mode = mode;
  options.strategy.pipelining = true;
  options.strategy.ipus = ipus;
  return options;
}

using SecondsOfRun = double (*)(importer::Model model, SessionOptions options);

double seconds_of_inference(importer::Model model, SessionOptions options) {
  options.strategy.batches_per_step = 16;
  return InferenceSession(std::move(model), options).timeline()->makespan;
}

double seconds_of_training(importer::Model model, SessionOptions options) {
  options.strategy.accumulation_factor = 16;
  const TrainingOptions training{
      .session = std::move(options), .loss = "loss", .optimizer = ir::make_optimizer("Adam", {})};
  return TrainingSession(std::move(model), training).timeline()->makespan;
}

void expect_a_good_cut(int layers, int ipus, SecondsOfRun seconds) {
  const importer::Model model = language_model(layers);
  const double automatic = seconds(model, pipeline_over(ipus, VirtualGraphMode::Auto));
  double best = automatic;
  std::vector<bool> is_cut(static_cast<std::size_t>(layers) + 1, false);
  std::fill_n(is_cut.begin(), ipus - 1, true);
  do {
    std::vector<int> cuts;
    for (std::size_t block = 0; block < is_cut.size(); ++block) {
      if (is_cut[block]) cuts.push_back(static_cast<int>(block) + 1);
    }
    importer::Model by_hand = model;
    place_blocks(by_hand, cuts, layers);
    best = std::min(best, seconds(std::move(by_hand), pipeline_over(ipus, VirtualGraphMode::Manual)));
  } while (std::prev_permutation(is_cut.begin(), is_cut.end()));
  EXPECT_LE(automatic, 1.1 * best);
}

TEST(AutomaticCut, OfAnInferringLanguageModelIsAsFastAsTheBestBetweenItsLayers) {
  expect_a_good_cut(10, 4, seconds_of_inference);
}

TEST(AutomaticCut, OfATrainingLanguageModelIsAsFastAsTheBestBetweenItsLayers) {
  expect_a_good_cut(5, 3, seconds_of_training);
}

}  // namespace
}  // namespace podium
