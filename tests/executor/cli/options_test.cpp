#include "executor/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/cli/usage_error.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using testing::TemporaryFolder;

Options read(const Arguments& arguments) { return parse(Command::Run, arguments); }

std::string refusal(const Arguments& arguments) {
  return testing::refusal<UsageError>([&] { read(arguments); });
}

TEST(SessionFlags, EachSetsItsOption) {
  const Strategy options = read({"--virtual-graph-mode",
                                 "execution-phases",
                                 "--pipeline",
                                 "--weight-stashing",
                                 "--batches-per-step",
                                 "6",
                                 "--accumulate",
                                 "2",
                                 "--replicas",
                                 "4",
                                 "--phases",
                                 "5",
                                 "--batch-serialize",
                                 "3",
                                 "--io-mode",
                                 "io-overlapped",
                                 "--io-tiles",
                                 "64",
                                 "--overlap-io",
                                 "inner",
                                 "--recompute",
                                 "all",
                                 "--sync",
                                 "replica-and-ladder",
                                 "--reduction",
                                 "mean",
                                 "--ipus",
                                 "8"})
                               .session;
  EXPECT_EQ(options.virtual_graph_mode, VirtualGraphMode::ExecutionPhases);
  EXPECT_TRUE(options.pipelining);
  EXPECT_TRUE(options.weight_stashing);
  EXPECT_EQ(options.batches_per_step, 6);
  EXPECT_EQ(options.accumulation_factor, 2);
  EXPECT_EQ(options.replicas, 4);
  EXPECT_EQ(options.phases.phases, 5);
  EXPECT_EQ(options.batch_serialization.factor, 3);
  EXPECT_EQ(options.batch_serialization.io_mode, IoMode::IoOverlapped);
  EXPECT_EQ(options.io_tiles, 64);
  EXPECT_EQ(options.overlap_io, ir::ExchangeStrategy::OverlapInnerLoop);
  EXPECT_EQ(options.recomputation, Recomputation::RecomputeAll);
  EXPECT_EQ(options.sync, SyncPattern::ReplicaAndLadder);
  EXPECT_EQ(options.reduction, Reduction::Mean);
  EXPECT_EQ(options.ipus, 8);
}

TEST(SessionFlags, ListsNameTheTensorsTheyAreAbout) {
  const Strategy options =
      read({"--off-chip", "weights,activations", "--shard", "optimizer", "--shard-threshold", "16"}).session;
  EXPECT_EQ(options.weights.location.storage, ir::Storage::OffChip);
  EXPECT_EQ(options.activations.location.storage, ir::Storage::OffChip);
  EXPECT_EQ(options.optimizer_state.location.storage, ir::Storage::OnChip);
  EXPECT_TRUE(options.optimizer_state.location.sharded);
  EXPECT_FALSE(options.weights.location.sharded);
  EXPECT_EQ(options.weights.min_elements_for_sharding, 16);
  EXPECT_EQ(options.accumulators.min_elements_for_sharding, 16);
}

TEST(SessionFlags, AnchorsSayWhatComesBack) {
  const Strategy options = read({"--anchor", "y=every-2", "--anchor", "z=sum"}).session;
  EXPECT_EQ(options.anchors.at("y").returns, AnchorReturn::EveryN);
  EXPECT_EQ(options.anchors.at("y").every, 2);
  EXPECT_EQ(options.anchors.at("z").returns, AnchorReturn::Sum);
}

TEST(SessionFlags, AFlagWinsOverTheFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "o.json",
      R"({"batchesPerStep": 3, "replicatedGraphCount": 2, "weightTensorLocationSettings": {"minElementsForOffChip": 7}})");
  const Options options = read({"--replicas", "4", "--options", file, "--off-chip", "weights"});
  EXPECT_EQ(options.session.batches_per_step, 3);
  EXPECT_EQ(options.session.replicas, 4);
  EXPECT_EQ(options.session.weights.min_elements_for_off_chip, 7);
  EXPECT_EQ(options.session.weights.location.storage, ir::Storage::OffChip);
  EXPECT_EQ(options.session_json["replicatedGraphCount"], 4);
  EXPECT_EQ(options.session_json["batchesPerStep"], 3);
}

TEST(SessionFlags, RefuseWithTheNearestWord) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--sync", "ful"},
       "--sync: 'ful' found, one of full, single-pipeline, replica-and-ladder needed, the nearest is 'full'"},
      {{"--off-chip", "weights,optimiser"},
       "--off-chip: 'optimiser' found, one of weights, optimizer, accumulators, activations needed, the "
       "nearest is 'optimizer'"},
      {{"--shard", ""},
       "--shard: '' found, one of weights, optimizer, accumulators needed, the nearest is 'weights'"},
      {{"--replicas", "0"}, "--replicas: '0' found, a whole number of at least 1 needed"},
      {{"--phases", "two"}, "--phases: 'two' found, a whole number of at least 0 needed"},
      {{"--anchor", "y=every-0"}, "--anchor y: '0' found, a whole number of at least 1 needed"},
      {{"--anchor", "y=each"},
       "--anchor y: 'each' found, one of all, final, sum, every-N needed, the nearest is 'all'"},
      {{"--anchor", "y=all", "--anchor", "y=sum"}, "--anchor y: given twice"},
      {{"--replica", "2"}, "unknown option '--replica', the nearest is '--replicas'"},
  };
  for (const auto& [arguments, message] : cases) EXPECT_EQ(refusal(arguments), message);
}

TEST(SessionFlags, HelpShowsDefaults) {
  EXPECT_THAT(help(Command::Run), ::testing::HasSubstr("N data-parallel replicas (default: 1)"));
}

}  // namespace
}  // namespace podium::cli
