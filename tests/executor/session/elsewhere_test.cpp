// Ops on the IO tiles, activations and variables that wait elsewhere, products in parts: training gives the
// numbers of one processor under every strategy, whatever is where.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "executor/device/presets.h"
#include "executor/session/training_session.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::elsewhere {
namespace {

constexpr const char* kFourLayers = R"(agraph (float[2,3] x, float[2,3] wanted) => (float loss)
  <float[3,3] w0 = {0.1,0.2,0.3, -0.1,0.4,0.2, 0.5,-0.2,0.1}, float[3,3] w1 = {0.3,-0.2,0.1, 0.2,0.1,-0.3, 0.1,0.1,0.4},
   float[3,3] w2 = {0.2,0.2,-0.3, 0.1,-0.4,0.2, 0.5,0.2,0.1}, float[3,3] w3 = {-0.3,0.2,0.1, 0.2,0.6,0.3, 0.1,0.1,0.4}>
  { a = MatMul(x, w0) b = Tanh(a) c = MatMul(b, w1) d = Tanh(c) e = MatMul(d, w2) f = Tanh(e) g = MatMul(f, w3)
    h = Sub(g, wanted) i = Mul(h, h) loss = ReduceMean <keepdims = 0> (i) })";

using Weights = std::map<std::string, std::vector<float>>;
using Annotate = std::function<void(ir::Graph&)>;

Weights trained(const Strategy& strategy, const Annotate& annotate = {}) {
  importer::Model model = importer::import_text(testing::model_text(kFourLayers));
  if (annotate) annotate(model.graph);
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1, false}}, {"momentum", {0.9}}});
  TrainingSession session(std::move(model), options);
  std::vector<ir::Datum> inputs;
  for (const executor::HostTensor& input : session.inputs()) {
    const std::int64_t count = input.type.element_count() * input.micro_batches * strategy.replicas;
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>((i * 5) % 7 - 3) / 4);
    inputs.push_back(testing::list<float>(numbers));
  }
  for (int step = 0; step < 3; ++step) session.run(inputs);
  Weights weights;
  for (const auto& [name, tensor] : session.weights()) weights[name] = testing::values<float>(tensor);
  return weights;
}

std::vector<std::pair<std::string, Strategy>> spreads() {
  const Strategy two{
      .virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2, .accumulation_factor = 4, .io_tiles = 32};
  std::vector<std::pair<std::string, Strategy>> all{{"sharded", two}};
  all.emplace_back("pipelined", two).second.pipelining = true;
  all.emplace_back("pipelined, 1F1B", all[1].second).second.pipeline_order =
      PipelineOrder::OneForwardOneBackward;
  all.emplace_back("updates in stages", all[1].second).second.accumulation_factor = 1;
  all.back().second.batches_per_step = 4;
  Strategy& replicated = all.emplace_back("replicated", two).second;
  replicated.ipus = 4;
  replicated.replicas = 2;
  Strategy& phased = all.emplace_back("phased", two).second;
  phased.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  phased.phases.phases = 4;
  Strategy& recomputed = all.emplace_back("recomputed", all[1].second).second;
  recomputed.recomputation = Recomputation::RecomputeAll;
  Strategy& sharded_state = all.emplace_back("sharded state", all[4].second).second;
  sharded_state.optimizer_state = {.location = {.sharded = true}, .min_elements_for_sharding = 1};
  sharded_state.weights = sharded_state.optimizer_state;
  return all;
}

void on_io_tiles(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.ops.size(); i += 3)
    ir::set_attribute(graph.ops[i], "__tile_set", std::int64_t{1});
}

void all_on_io_tiles(ir::Graph& graph) {
  for (ir::Op& op : graph.ops) ir::set_attribute(op, "__tile_set", std::int64_t{1});
}

void in_an_order(ir::Graph& graph) {
  float priority = 0;
  for (ir::Op& op : graph.ops) ir::set_attribute(op, "__schedule_priority", priority += 1);
}

TEST(Elsewhere, TheNumbersAreThoseOfWhatIsOnTheComputeTiles) {
  constexpr ir::TensorLocation kOffChip{.storage = ir::Storage::OffChip};
  constexpr ir::TensorLocation kOverIoTiles{.storage = ir::Storage::OffChip, .load_tiles = ir::TileSet::IO};
  constexpr ir::TensorLocation kOnIoTiles{.storage_tiles = ir::TileSet::IO};
  for (const auto& [name, plain] : spreads()) {
    SCOPED_TRACE(name);
    const Weights expected = trained(plain);
    EXPECT_EQ(trained(plain, on_io_tiles), expected);
    EXPECT_EQ(trained(plain, all_on_io_tiles), expected);
    EXPECT_EQ(trained(plain, in_an_order), expected);
    for (const ir::TensorLocation& location : {kOffChip, kOverIoTiles, kOnIoTiles}) {
      SCOPED_TRACE(fmt::format("off chip {}, tiles {} {}", static_cast<int>(location.storage),
                               static_cast<int>(location.load_tiles),
                               static_cast<int>(location.storage_tiles)));
      Strategy asked = plain;
      asked.activations.location = location;
      EXPECT_EQ(trained(asked), expected);
      EXPECT_EQ(trained(asked, on_io_tiles), expected);
      asked = plain;
      for (LocationSettings* settings : {&asked.weights, &asked.optimizer_state, &asked.accumulators}) {
        const bool is_sharded = settings->location.sharded;
        settings->location = location;
        settings->location.sharded = is_sharded;
      }
      EXPECT_EQ(trained(asked), expected);
      EXPECT_EQ(trained(asked, on_io_tiles), expected);
    }
    Strategy merged = plain;
    merged.merging = {.brings_together = true, .all_reduces = true};
    EXPECT_EQ(trained(merged), expected);
    Strategy apart = plain;
    apart.outlining = Outlining::Off;
    EXPECT_EQ(trained(apart), expected);
  }
}

// Derivatives are where their forward ops are.
TEST(Elsewhere, DerivativesAreOnTheTilesOfTheirForwardOps) {
  const auto io_ops = [](const Strategy& strategy) {
    importer::Model model = importer::import_text(testing::model_text(kFourLayers));
    ir::set_attribute(model.graph.ops[2], "__tile_set", std::int64_t{1});
    TrainingOptions options{.loss = "loss"};
    options.session = {.strategy = strategy, .clock = true, .estimate = true};
    const TrainingSession session(std::move(model), options);
    std::vector<std::string> ops;
    for (const executor::Block& block : session.program().blocks) {
      if (block.memory != executor::Memory::IO) continue;
      for (const ir::Op& op : block.graph.ops) ops.push_back(std::string(op.spec->name));
    }
    return ops;
  };
  const std::vector<std::string> ops = io_ops(spreads().front().second);
  EXPECT_EQ(std::ranges::count(ops, "MatMul"), 3);  // and the products of both derivatives
}

TEST(Elsewhere, TooFewIoTilesForAnOpAreToldWithBothNumbers) {
  importer::Model model = importer::import_text(testing::model_text(
      "agraph (float[64,64] x, float[64,64] w) => (float[64,64] y) { y = MatMul <__tile_set = 1> (x, w) }"));
  device::Device device = *device::find_preset(device::kDefaultPreset);
  device.tile_memory_bytes = 1000;
  EXPECT_EQ(
      testing::refusal([&] {
        InferenceSession session(
            std::move(model),
            {.strategy = {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 1, .io_tiles = 32},
             .device = device});
      }),
      "node 'y' (MatMul) on the IO tiles of ipu 0: 49152 bytes found, at most 32000 needed: numIOTiles 32 of "
      "1000 bytes each");
}

}  // namespace
}  // namespace podium::elsewhere
