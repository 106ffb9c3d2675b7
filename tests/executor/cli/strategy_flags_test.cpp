#include "executor/cli/strategy_flags.h"

#include <gmock/gmock.h>

#include "executor/session/read_options.h"

namespace podium::cli {
namespace {

TEST(StrategyFlags, SayWhatTheDocumentSays) {
  const StrategyFlags flags = flags_of(nlohmann::json::parse(R"({
      "numIPUs": 8, "virtualGraphMode": "Auto", "enablePipelining": true, "batchesPerStep": 16,
      "enableReplicatedGraphs": true, "replicatedGraphCount": 2, "autoRecomputation": "Pipeline",
      "optimizerStateTensorLocationSettings": {"location": {"storage": "OffChip"}},
      "weightTensorLocationSettings": {"location": {"replicatedTensorSharding": "On"}},
      "anchors": {"y": "Final", "z": {"returnType": "EveryN", "returnPeriod": 4}}})"));
  EXPECT_EQ(
      line_of(flags.words),
      "--ipus 8 --virtual-graph-mode auto --pipeline --batches-per-step 16 --replicas 2 --recompute pipeline "
      "--off-chip optimizer --shard weights --anchor y=final --anchor z=every-4");
  EXPECT_TRUE(flags.no_flags.empty()) << flags.no_flags;
}

TEST(StrategyFlags, KeepWhatOnlyAFileCanSay) {
  const StrategyFlags flags = flags_of(nlohmann::json::parse(
      R"({"numIPUs": 2, "weightTensorLocationSettings": {"location": {"storage": "OffChip", "loadTileSet": "IO"}}})"));
  EXPECT_EQ(line_of(flags.words), "--ipus 2 --off-chip weights");
  EXPECT_EQ(flags.no_flags.dump(), R"({"weightTensorLocationSettings":{"location":{"loadTileSet":"IO"}}})");
}

TEST(StrategyFlags, OfAChangeSayDefaultsToo) {
  const StrategyFlags flags = flags_of(
      nlohmann::json::parse(R"({"autoRecomputation": "None", "enablePipelining": false})"), Defaults::Said);
  EXPECT_EQ(line_of(flags.words), "--recompute none");
  EXPECT_EQ(flags.dropped, std::vector<std::string>{"--pipeline"});
}

TEST(StrategyFlags, ReadBackGiveTheSameStrategy) {
  Strategy strategy;
  strategy.ipus = 4;
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.pipelining = true;
  strategy.accumulation_factor = 8;
  strategy.io_tiles = 64;
  strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
  strategy.accumulators.location.storage = ir::Storage::OffChip;
  const StrategyFlags flags = flags_of(write_options(strategy));
  ASSERT_TRUE(flags.no_flags.empty()) << flags.no_flags;
  const Options options = parse(Command::Train, flags.words);
  EXPECT_EQ(write_options(options.session), write_options(strategy));
}

TEST(StrategyFlags, ACommandKeepsWhatWasTypedBesideTheStrategy) {
  Options options = parse(Command::Compare, {"my model.onnx", "--dim", "batch=2", "--device", "ipu-pod16",
                                             "--ipus", "4", "--report", "r.json", "--verify-only", "1"});
  EXPECT_EQ(
      command_of(options, {{"numIPUs", 4}, {"virtualGraphMode", "Auto"}}, "o.json", {{"seq", 1}}),
      "podium run 'my model.onnx' --dim batch=2 --device ipu-pod16 --dim seq=1 --ipus 4 --virtual-graph-mode "
      "auto");
  EXPECT_EQ(command_of(options, {{"numIPUs", 4}, {"constantWeights", false}}, "o.json", {}),
            "podium run 'my model.onnx' --dim batch=2 --device ipu-pod16 --options o.json");
}

}  // namespace
}  // namespace podium::cli
