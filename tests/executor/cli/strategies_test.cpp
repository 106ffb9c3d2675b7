#include "executor/cli/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "executor/session/check_options.h"
#include "executor/session/read_options.h"

namespace podium::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

StrategyRequest request(int processors) {
  return {.processors = processors, .ops = 500, .weight_bytes = 1000, .memory_bytes = 900, .tiles = 1472};
}

std::vector<std::string> names(const std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies) names.push_back(strategy.name);
  return names;
}

podium::Options options_of(const Strategy& strategy) {
  Notes notes;
  const podium::Options options = read_options(strategy.options.dump(), strategy.name, notes);
  EXPECT_TRUE(notes.empty()) << strategy.name;
  return options;
}

TEST(Strategies, TryAtLeastEightWaysOnSixteenProcessorsEachWithANameOfItsOwn) {
  const std::vector<std::string> all = names(sensible_strategies(request(16)));
  EXPECT_GE(all.size(), 8U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all[0], "one processor");
  EXPECT_THAT(all,
              ::testing::IsSupersetOf({"sharded over 16", "pipelined over 16", "pipelined over 4, 4 replicas",
                                       "one processor, 16 replicas",
                                       "one processor, 16 replicas, weights sharded", "phases in turns on 2",
                                       "phases on 1 with IO tiles", "phases in turns on 2, 8 replicas"}));
}

TEST(Strategies, ContradictThemselvesNowhere) {
  for (int processors : {1, 2, 3, 4, 6, 7, 16, 1024}) {
    for (const Strategy& strategy : sensible_strategies(request(processors))) {
      const podium::Options options = options_of(strategy);
      EXPECT_EQ(why_illegal(options), std::nullopt) << strategy.name << " of " << processors;
      EXPECT_LE(options.ipus, processors) << strategy.name;
    }
  }
}

TEST(Strategies, TakeTheSameMicroBatchesInAStep) {
  for (const Strategy& strategy : sensible_strategies(request(16))) {
    const podium::Options options = options_of(strategy);
    const int found = options.batches_per_step * options.replicas;
    if (strategy.name == "pipelined over 16, 16 batches") {
      EXPECT_EQ(found, 16);
    } else {
      EXPECT_EQ(found, 64) << strategy.name;
    }
  }
}

TEST(Strategies, CutMicroBatchesIntoSlicesWhereTheirSamplesCanBeSharedOut) {
  for (const auto& [batch, slices] : std::map<int, int>{{1, 0}, {2, 2}, {3, 0}, {6, 2}, {8, 4}}) {
    StrategyRequest asked = request(4);
    asked.batch = batch;
    int found = 0;
    for (const Strategy& strategy : sensible_strategies(asked)) {
      found = std::max(found, options_of(strategy).batch_serialization.factor);
    }
    EXPECT_EQ(found, slices) << batch;
  }
}

TEST(Strategies, StartFromTheOptionsGiven) {
  StrategyRequest asked = request(4);
  asked.base = {{"syntheticDataMode", "Zeros"}};
  asked.micro_batches = 8;
  for (const Strategy& strategy : sensible_strategies(asked)) {
    const podium::Options options = options_of(strategy);
    EXPECT_EQ(options.synthetic_data, SyntheticData::Zeros);
    EXPECT_LE(options.batches_per_step * options.replicas, 8);
  }
}

TEST(Strategies, CutAModelWithFewOpsIntoNoMorePiecesThanThatInPhasesAndShorterPipelines) {
  StrategyRequest asked = request(1024);
  asked.ops = 6;
  for (const Strategy& strategy : sensible_strategies(asked)) {
    const podium::Options options = options_of(strategy);
    EXPECT_LE(options.phases.phases, 6) << strategy.name;
    const bool is_short = options.pipelining && options.replicas > 1;
    EXPECT_TRUE(!is_short || options.ipus / options.replicas <= 6) << strategy.name;
  }
}

TEST(Strategies, OfTrainingContradictThemselvesNowhereAndTakeTheSameMicroBatchesInAnUpdate) {
  for (int processors : {1, 2, 3, 4, 6, 7, 16, 1024}) {
    std::set<std::string> names;
    for (const Strategy& strategy : sensible_training_strategies(request(processors))) {
      const podium::Options options = options_of(strategy);
      EXPECT_TRUE(names.insert(strategy.name).second) << strategy.name;
      EXPECT_EQ(why_illegal(options), std::nullopt) << strategy.name << " of " << processors;
      EXPECT_LE(options.ipus, processors) << strategy.name;
      EXPECT_EQ(options.accumulation_factor * options.replicas, 4 * processors) << strategy.name;
    }
    EXPECT_GE(names.size(), processors == 1 ? 5U : 8U);
  }
}

std::vector<Strategy> read(const std::string& json) {
  return read_strategies(json, "s.json", {{"batchesPerStep", 4}});
}

TEST(Strategies, AreReadFromAFileOverTheOptionsGiven) {
  const std::vector<Strategy> strategies = read(
      R"([{"name": "a", "options": {"enablePipelining": true}}, {"annotate": [{"match": "fc*", "stage": 1}]}])");
  ASSERT_EQ(strategies.size(), 2U);
  EXPECT_EQ(strategies[0].name, "a");
  EXPECT_EQ(strategies[0].options.dump(), R"({"batchesPerStep":4,"enablePipelining":true})");
  EXPECT_EQ(strategies[1].name, "strategy 1");
  EXPECT_EQ(strategies[1].annotations.dump(), R"([{"match":"fc*","stage":1}])");
}

TEST(Strategies, SayWhereAFileIsWrong) {
  EXPECT_THAT([] { read("nonsense"); }, ThrowsMessage<Error>(HasSubstr("s.json: no JSON")));
  EXPECT_THAT([] { read("[]"); }, ThrowsMessage<Error>(HasSubstr("at least one strategy needed")));
  EXPECT_THAT([] { read(R"([{"nam": "a"}])"); },
              ThrowsMessage<Error>(HasSubstr("s.json: strategy 0: 'nam' found")));
  EXPECT_THAT([] { read(R"([{"options": true}])"); },
              ThrowsMessage<Error>(HasSubstr("strategy 0: 'options' found")));
}

}  // namespace
}  // namespace podium::cli
