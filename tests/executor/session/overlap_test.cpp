// How much of a run the IO tiles work beside a computation, in PopART's three settings (semantics, section
// 9).
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/session/session.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

// A chain of products. Half of the first one leaves for the host as soon as it is there.
std::string chain_of_products(int layers, int size) {
  const std::string type = fmt::format("float16[{0},{0}]", size);
  std::string text = fmt::format("g ({0} x) => (float16[{1},{2}] early, {0} y{3}) {{ y0 = MatMul (x, x)\n",
                                 type, size / 2, size, layers - 1);
  text += "early, rest = Split <num_outputs = 2> (y0)\n";
  for (int i = 1; i < layers; ++i) text += fmt::format("y{} = MatMul (y{}, x)\n", i, i - 1);
  return text + "}";
}

// The share of a run of 16 micro-batches.
double overlap(bool on_io_tiles, ir::ExchangeStrategy exchange) {
  constexpr int kLayers = 20;
  importer::Model model = importer::import_text(testing::model_text(chain_of_products(kLayers, 512)));
  SessionOptions options{.device = *device::find_preset("ipu-m2000"), .clock = true, .estimate = true};
  options.strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  options.strategy.ipus = 1;
  options.strategy.batches_per_step = 16;
  options.strategy.io_tiles = 128;
  if (on_io_tiles) {
    model.info.metadata["__tile_set/x"] = "1";
    model.info.metadata["__exchange_strategy/x"] = fmt::format("{}", static_cast<int>(exchange));
    for (const std::string& output : {std::string("early"), fmt::format("y{}", kLayers - 1)}) {
      options.strategy.anchors[output] = {.tiles = ir::TileSet::IO, .exchange = exchange};
    }
  }
  const InferenceSession session(std::move(model), options);
  return session.timeline()->processors[0].overlapped / session.timeline()->makespan;
}

TEST(Overlap, GrowsWithWhatTheIoTilesMayDo) {
  const double none = overlap(false, ir::ExchangeStrategy::JustInTime);
  const double just_in_time = overlap(true, ir::ExchangeStrategy::JustInTime);
  const double inner_loop = overlap(true, ir::ExchangeStrategy::OverlapInnerLoop);
  EXPECT_EQ(none, 0);
  // What PopART's own test found in a network of its size; here, too, moving takes about as long as
  // computing.
  EXPECT_NEAR(just_in_time, 0.149, 0.05);
  EXPECT_NEAR(inner_loop, 0.481, 0.05);
  EXPECT_GT(inner_loop - just_in_time, 0.25);
}

}  // namespace
}  // namespace podium
