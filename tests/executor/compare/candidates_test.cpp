#include "executor/compare/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "executor/session/check_options.h"
#include "executor/session/read_options.h"

namespace podium::compare {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Request request(int processors) {
  return {.processors = processors, .ops = 500, .weight_bytes = 1000, .memory_bytes = 900, .tiles = 1472};
}

std::vector<std::string> names(const std::vector<Candidate>& strategies) {
  std::vector<std::string> names;
  for (const Candidate& strategy : strategies) names.push_back(strategy.name);
  return names;
}

// As the candidate's document says, which is what it is.
Strategy options_of(const Candidate& candidate) {
  Notes notes;
  const Strategy options = read_option_document(candidate.document, candidate.name, notes);
  EXPECT_TRUE(notes.empty()) << candidate.name;
  EXPECT_EQ(write_options(options), write_options(candidate.strategy)) << candidate.name;
  return options;
}

std::vector<Candidate> for_training(int processors) {
  Request asked = request(processors);
  asked.task = Task::Training;
  return sensible_candidates(asked);
}

TEST(Strategies, TryAtLeastEightWaysOnSixteenProcessorsEachWithANameOfItsOwn) {
  const std::vector<std::string> all = names(sensible_candidates(request(16)));
  EXPECT_GE(all.size(), 8U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all[0], "one processor");
  EXPECT_THAT(all,
              ::testing::IsSupersetOf({"sharded over 16", "pipelined over 16", "pipelined over 4, 4 replicas",
                                       "one processor, 16 replicas",
                                       "one processor, 16 replicas, weights sharded", "phases in turns on 2",
                                       "phases on 1 with IO tiles", "phases in turns on 2, 8 replicas"}));
}

TEST(Strategies, OfAModelWithoutWeightsMoveNone) {
  Request asked = request(16);
  asked.weight_bytes = 0;
  for (const Candidate& candidate : sensible_candidates(asked))
    EXPECT_EQ(candidate.name.find("weights"), std::string::npos) << candidate.name;
}

TEST(Strategies, ContradictThemselvesNowhere) {
  for (int processors : {1, 2, 3, 4, 6, 7, 16, 1024}) {
    Request asked = request(processors);
    asked.tensor_cuts = {.degrees = {2, 4, 8}, .tokens = true};
    for (const Candidate& strategy : sensible_candidates(asked)) {
      const Strategy options = options_of(strategy);
      EXPECT_EQ(why_illegal(options), std::nullopt) << strategy.name << " of " << processors;
      EXPECT_LE(options.ipus, processors) << strategy.name;
    }
  }
}

std::vector<std::string> names_of_cuts(Request asked) {
  asked.tensor_cuts = {.degrees = {2, 4, 8}, .tokens = true};
  std::vector<std::string> all = names(sensible_candidates(asked));
  std::erase_if(all, [](const std::string& name) {
    return !name.starts_with("tensors") && !name.starts_with("tokens");
  });
  return all;
}

TEST(Strategies, CutTensorsOverDevicesAloneAndAsStages) {
  EXPECT_THAT(names_of_cuts(request(8)),
              ::testing::ElementsAre("tensors cut over 2, 4 replicas", "tensors cut over 4, 2 replicas",
                                     "tensors cut over 8", "tensors cut over 4, pipelined over 2",
                                     "tensors cut over 2, pipelined over 2, 2 replicas"));
}

TEST(Strategies, CutTensorsOverAsManyDevicesAsAreAskedForAndLeaveThemWholeElsewhere) {
  Request asked = request(8);
  asked.base.tensor_parallel = {.devices = 4, .cuts_tokens = true};
  asked.document = write_options(asked.base);
  EXPECT_THAT(names_of_cuts(asked), ::testing::ElementsAre("tensors cut over 4, 2 replicas",
                                                           "tensors cut over 4, pipelined over 2"));
  for (const Candidate& strategy : sensible_candidates(asked)) {
    const TensorParallelism& cut = options_of(strategy).tensor_parallel;
    EXPECT_EQ(cut.devices, 1 + 3 * static_cast<int>(strategy.name.starts_with("tensors"))) << strategy.name;
    EXPECT_EQ(cut.cuts_tokens, cut.devices == 4) << strategy.name;
  }
}

TEST(Strategies, CountGroupsThatShareOutTokensAmongTheDevicesOfACut) {
  Request asked = request(8);
  asked.base.tensor_parallel = {.devices = 2, .context_groups = 2};
  asked.document = write_options(asked.base);
  EXPECT_THAT(names_of_cuts(asked),
              ::testing::ElementsAre("tensors cut over 2, tokens shared out among 2, 2 replicas",
                                     "tensors cut over 2, tokens shared out among 2, pipelined over 2"));
  for (const Candidate& strategy : sensible_candidates(asked)) {
    const bool is_cut = strategy.name.starts_with("tensors");
    EXPECT_EQ(options_of(strategy).tensor_parallel,
              is_cut ? asked.base.tensor_parallel : TensorParallelism{});
  }
}

TEST(Strategies, CutTokensBetweenTheBlocksOnlyWhereWeightsAreCut) {
  Request asked = request(8);
  asked.task = Task::Training;
  const auto cuts_tokens = [&] {
    const std::vector<std::string> names = names_of_cuts(asked);
    return std::ranges::any_of(names, [](const std::string& name) { return name.ends_with("tokens cut"); });
  };
  asked.base.tensor_parallel = {.devices = 2, .context_groups = 2};
  EXPECT_TRUE(cuts_tokens());
  asked.base.tensor_parallel = {.context_groups = 2};
  EXPECT_FALSE(cuts_tokens());
  EXPECT_EQ(names_of_cuts(asked)[0], "tokens shared out among 2, pipelined over 4");
}

TEST(Strategies, SendInPartsWhatGroupsOfACutSendEachOther) {
  Request asked = request(8);
  asked.task = Task::Training;
  const auto in_parts = [&] {
    std::vector<std::string> found = names_of_cuts(asked);
    std::erase_if(found, [](const std::string& name) { return !name.ends_with("sends in parts"); });
    return found;
  };
  asked.base.tensor_parallel = {.devices = 2};
  EXPECT_FALSE(in_parts().empty());
  asked.base.tensor_parallel = {.devices = 2, .scatters_sends = true};
  EXPECT_TRUE(in_parts().empty());
  asked.base.tensor_parallel = {.context_groups = 2};
  EXPECT_TRUE(in_parts().empty());
}

// Weights, their gradients and states need 4000 of 900 bytes each.
TEST(Strategies, CutTensorsOverAsManyDevicesAsHaveRoom) {
  Request asked = request(16);
  asked.task = Task::Training;
  EXPECT_THAT(names_of_cuts(asked),
              ::testing::ElementsAre("tensors cut over 8, 2 replicas", "tensors cut over 8, pipelined over 2",
                                     "tensors cut over 8, pipelined over 2, sends in parts",
                                     "tensors cut over 8, pipelined over 2, recomputation, tokens cut",
                                     "tensors cut over 4, pipelined over 2, 2 replicas",
                                     "tensors cut over 4, pipelined over 2, 2 replicas, sends in parts",
                                     "tensors cut over 4, pipelined over 2, 2 replicas, recomputation, "
                                     "tokens cut"));
}

TEST(Strategies, HaveAsManyReplicasAsAreAskedFor) {
  for (const Task task : {Task::Inference, Task::Training}) {
    for (const int replicas : {1, 2, 8}) {
      Request asked = request(8);
      asked.task = task;
      asked.replicas = replicas;
      asked.base.replicas = replicas;
      asked.document = write_options(asked.base);
      asked.tensor_cuts = {.degrees = {2, 4, 8}, .tokens = true};
      const std::vector<Candidate> candidates = sensible_candidates(asked);
      const std::vector<std::string> all = names(candidates);
      EXPECT_GT(all.size(), 2U);
      EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
      for (const Candidate& strategy : candidates) {
        const Strategy options = options_of(strategy);
        EXPECT_EQ(options.replicas, replicas) << strategy.name;
        EXPECT_LE(options.ipus, 8) << strategy.name;
        EXPECT_EQ(why_illegal(options), std::nullopt) << strategy.name;
      }
    }
  }
  Request pairs = request(4);
  pairs.replicas = 2;
  EXPECT_THAT(names(sensible_candidates(pairs)),
              ::testing::IsSupersetOf({"one processor, 2 replicas", "sharded over 2, 2 replicas",
                                       "pipelined over 2, 2 replicas, weights sharded",
                                       "phases in turns on 2, 2 replicas"}));
}

TEST(Strategies, TakeTheSameMicroBatchesInAStep) {
  for (const Candidate& strategy : sensible_candidates(request(16))) {
    const Strategy options = options_of(strategy);
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
    Request asked = request(4);
    asked.batch = batch;
    int found = 0;
    for (const Candidate& strategy : sensible_candidates(asked)) {
      found = std::max(found, options_of(strategy).batch_serialization.factor);
    }
    EXPECT_EQ(found, slices) << batch;
  }
}

TEST(Strategies, StartFromTheOptionsGiven) {
  Request asked = request(4);
  asked.base = {.synthetic_data = SyntheticData::Zeros};
  asked.document = {{"syntheticDataMode", "Zeros"}};
  asked.micro_batches = 8;
  for (const Candidate& strategy : sensible_candidates(asked)) {
    const Strategy options = options_of(strategy);
    EXPECT_EQ(options.synthetic_data, SyntheticData::Zeros);
    EXPECT_LE(options.batches_per_step * options.replicas, 8);
  }
}

TEST(Strategies, CutAModelWithFewOpsIntoNoMorePiecesThanThatInPhasesAndShorterPipelines) {
  Request asked = request(1024);
  asked.ops = 6;
  for (const Candidate& strategy : sensible_candidates(asked)) {
    const Strategy options = options_of(strategy);
    EXPECT_LE(options.phases.phases, 6) << strategy.name;
    const bool is_short = options.pipelining && options.replicas > 1;
    EXPECT_TRUE(!is_short || options.ipus / options.replicas <= 6) << strategy.name;
  }
}

// Names of pipelines without any change, longest first.
std::vector<std::string> names_of_pipelines(const Request& asked) {
  std::vector<std::string> all = names(sensible_candidates(asked));
  std::erase_if(all, [](const std::string& name) {
    return !name.starts_with("pipelined") || !name.ends_with("replicas");
  });
  return all;
}

TEST(Strategies, OfTrainingHavePipelinesOfMoreThan256StagesOnlyWhereShorterOnesHaveNoRoom) {
  Request asked = request(1024);
  asked.task = Task::Training;
  asked.ops = 5000;
  asked.memory_bytes = asked.weight_bytes;
  EXPECT_THAT(names_of_pipelines(asked),
              ::testing::ElementsAre("pipelined over 256, 4 replicas", "pipelined over 128, 8 replicas",
                                     "pipelined over 64, 16 replicas", "pipelined over 32, 32 replicas"));
  asked.memory_bytes = asked.weight_bytes / 100;
  EXPECT_THAT(names_of_pipelines(asked), ::testing::ElementsAre("pipelined over 512, 2 replicas"));
}

TEST(Strategies, OfTrainingContradictThemselvesNowhereAndTakeTheSameMicroBatchesInAnUpdate) {
  for (int processors : {1, 2, 3, 4, 6, 7, 16, 1024}) {
    std::set<std::string> names;
    for (const Candidate& strategy : for_training(processors)) {
      const Strategy options = options_of(strategy);
      EXPECT_TRUE(names.insert(strategy.name).second) << strategy.name;
      EXPECT_EQ(why_illegal(options), std::nullopt) << strategy.name << " of " << processors;
      EXPECT_LE(options.ipus, processors) << strategy.name;
      EXPECT_EQ(options.accumulation_factor * options.replicas, 4 * processors) << strategy.name;
    }
    EXPECT_GE(names.size(), processors == 1 ? 5U : 8U);
  }
}

std::vector<Candidate> read(const std::string& json) {
  Notes notes;
  return read_candidates(json, "s.json", {{"batchesPerStep", 4}}, notes);
}

TEST(Strategies, AreReadFromAFileOverTheOptionsGiven) {
  const std::vector<Candidate> strategies = read(
      R"([{"name": "a", "options": {"enablePipelining": true}}, {"annotate": [{"match": "fc*", "stage": 1}]}])");
  ASSERT_EQ(strategies.size(), 2U);
  EXPECT_EQ(strategies[0].name, "a");
  EXPECT_EQ(strategies[0].document.dump(), R"({"batchesPerStep":4,"enablePipelining":true})");
  EXPECT_EQ(strategies[1].name, "strategy 1");
  EXPECT_EQ(strategies[1].annotations.dump(), R"([{"match":"fc*","stage":1}])");
}

TEST(Strategies, SayWhereAFileIsWrong) {
  EXPECT_THAT([] { read("nonsense"); }, ThrowsMessage<Error>(HasSubstr("s.json: line 1: syntax error")));
  EXPECT_THAT([] { read("[]"); }, ThrowsMessage<Error>(HasSubstr("at least one strategy needed")));
  EXPECT_THAT([] { read(R"([{"nam": "a"}])"); },
              ThrowsMessage<Error>(HasSubstr("s.json: strategy 0: 'nam' found")));
  EXPECT_THAT([] { read(R"([{"options": true}])"); },
              ThrowsMessage<Error>(HasSubstr("strategy 0: 'options' found")));
}

}  // namespace
}  // namespace podium::compare
