// How much of host IO lies beside a computation, on the network of PopART's own test (semantics, section 9):
// four inputs, a product each, summed up; 16 micro-batches of two replicas; the loss and the sum come back.
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/device/presets.h"
#include "executor/session/training_session.h"
#include "tests/executor/session/acceptance.h"

namespace podium::testing {
namespace {

constexpr int kFactors = 4;
constexpr int kSide = 64;
constexpr int kAccumulated = 16;
constexpr int kTwins = 2;

importer::Model four_products() {
  std::mt19937 random(4);
  std::string inputs;
  std::string weights;
  std::string ops;
  for (int i = 0; i < kFactors; ++i) {
    inputs += fmt::format("float[1,64,64] x{}, ", i);
    weights +=
        (i > 0 ? ", " : "") + initializer(fmt::format("w{}", i), {1, kSide, kSide},
                                          random_numbers(random, std::int64_t{kSide} * kSide, -0.05F, 0.05F));
    ops += fmt::format("p{0} = MatMul(w{0}, x{0}) ", i);
  }
  return model_of(fmt::format(
      "agraph ({}int32[1,64] label) => (float loss, float[1,64,64] sum) <{}> {{ {} sum = Sum(p0, p1, p2, p3)"
      " log = LogSoftmax <axis = 2> (sum) classes = Transpose <perm = [0, 2, 1]> (log)"
      " loss = NegativeLogLikelihoodLoss (classes, label) }}",
      inputs, weights, ops));
}

struct HostWay {
  ir::TileSet tiles;
  ir::ExchangeStrategy exchange;
};

constexpr HostWay kOnComputeTiles{ir::TileSet::Compute, ir::ExchangeStrategy::JustInTime};
constexpr HostWay kJustInTime{ir::TileSet::IO, ir::ExchangeStrategy::JustInTime};
constexpr HostWay kInnerLoop{ir::TileSet::IO, ir::ExchangeStrategy::OverlapInnerLoop};
constexpr HostWay kAllLoops{ir::TileSet::IO, ir::ExchangeStrategy::OverlapLoops};

TrainingSession session_of(HostWay way, int batches, int replicas = kTwins) {
  importer::Model model = four_products();
  TrainingOptions options = training_with({}, 1e-6);
  options.session.device = *device::find_preset("ipu-m2000");
  options.session.clock = true;
  Strategy& strategy = options.session.strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.ipus = strategy.replicas = replicas;
  strategy.accumulation_factor = kAccumulated;
  strategy.batches_per_step = batches;
  strategy.io_tiles = way.tiles == ir::TileSet::IO ? 128 : 0;
  for (const ir::ValueId input : model.graph.inputs) {
    const std::string& name = model.graph[input].name;
    model.info.metadata["__tile_set/" + name] = fmt::format("{}", static_cast<int>(way.tiles));
    model.info.metadata["__exchange_strategy/" + name] = fmt::format("{}", static_cast<int>(way.exchange));
  }
  for (const char* output : {"loss", "sum"})
    strategy.anchors[output] = {.tiles = way.tiles, .exchange = way.exchange};
  return {std::move(model), options};
}

// PopART's quotient: of what lies beside a computation in all transfers to and from the host, or in all
// computations, whichever is more.
double overlap_of(const sim::Timeline& timeline) {
  const auto of = [](const auto& busy, std::initializer_list<sim::Activity> kinds) {
    double sum = 0;
    for (const sim::Activity kind : kinds) sum += busy[static_cast<std::size_t>(kind)];
    return sum;
  };
  const sim::ProcessorReport& processor = timeline.processors[0];
  const double computes = of(processor.busy, {sim::Activity::Compute});
  const double transfers = of(processor.busy, {sim::Activity::HostLoad, sim::Activity::HostStore}) +
                           of(processor.io_busy, {sim::Activity::HostLoad, sim::Activity::HostStore});
  return processor.overlapped / std::min(computes, transfers);
}

double overlap(HostWay way, int batches = 1) { return overlap_of(*session_of(way, batches).timeline()); }

TEST(Overlap, OfPopartsNetworkGrowsWithWhatTheIoTilesMayDo) {
  const double none = overlap(kOnComputeTiles);
  const double just_in_time = overlap(kJustInTime);
  const double inner_loop = overlap(kInnerLoop);
  EXPECT_EQ(none, 0);
  // What PopART's test asks for. Its hardware gave 0.149 and 0.481; here the IO tiles are busy for longer
  // than the others compute, and nearly every computation has a transfer beside it.
  EXPECT_GT(inner_loop - none, 0.25);
  EXPECT_GT(inner_loop - just_in_time, 0.25);
}

// One replica, whose update is too short to hide the first load of the next batch.
TEST(Overlap, OfAllLoopsIsMoreThanOfTheInnerLoop) {
  constexpr int kBatches = 4;
  const TrainingSession inner = session_of(kInnerLoop, kBatches, 1);
  const TrainingSession all = session_of(kAllLoops, kBatches, 1);
  EXPECT_GT(overlap_of(*all.timeline()), overlap_of(*inner.timeline()));
  EXPECT_LT(all.timeline()->makespan, inner.timeline()->makespan);
}

TEST(Overlap, ChangesNoWeight) {
  constexpr int kBatches = 3;
  std::vector<std::vector<ir::Datum>> weights;
  for (const HostWay way : {kOnComputeTiles, kJustInTime, kInnerLoop, kAllLoops}) {
    TrainingSession session = session_of(way, kBatches);
    std::mt19937 random(224488);
    const std::int64_t count = std::int64_t{kBatches} * kAccumulated * kTwins;
    std::vector<ir::Datum> inputs;
    for (int i = 0; i < kFactors; ++i)
      inputs.emplace_back(random_tensor(random, {count, 1, kSide, kSide}, -0.05F, 0.05F));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count * kSide));
    for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random() % kSide);
    inputs.emplace_back(tensor<std::int32_t>({count, 1, kSide}, labels));
    const auto outputs = session.run(inputs);
    std::vector<ir::Datum>& found = weights.emplace_back(outputs.begin(), outputs.end());
    for (const auto& [name, weight] : session.weights()) found.emplace_back(weight.clone());
    ASSERT_EQ(found.size(), weights.front().size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(ir::identical(found[i].tensor, weights.front()[i].tensor)) << i;
  }
}

}  // namespace
}  // namespace podium::testing
