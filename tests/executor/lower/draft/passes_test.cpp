// The passes of a pipeline's chunks as blocks of their own.
#include "executor/lower/draft/passes.h"

#include <gmock/gmock.h>

#include "executor/lower/lower.h"
#include "tests/executor/lower/trained.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;

Strategy strategy_of(PipelineOrder order) {
  Strategy strategy;
  strategy.pipelining = true;
  strategy.pipeline_order = order;
  strategy.accumulation_factor = 4;
  return strategy;
}

void show_blocks(PipelineOrder order, const UsePasses& use) {
  const ir::Training training = testing::two_layers({});
  show_passes(training, testing::on_two_processors(training), strategy_of(order), use);
}

std::vector<std::string> texts(const PassBlocks& blocks) {
  std::vector<std::string> lines;
  for (const auto& [of, block] : blocks.passes) {
    std::string line = schedule::written_out({of.pass, of.chunk, 0}) + ":";
    for (const ir::Op& op : block.graph->ops) line += " " + (*block.graph)[op.outputs[0]].name;
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> texts_in(PipelineOrder order) {
  std::vector<std::string> lines;
  show_blocks(order, [&](const PassBlocks& blocks) { lines = texts(blocks); });
  return lines;
}

// As the strategy shows them on its way to a Program.
std::vector<std::string> texts_on_the_way(PipelineOrder order) {
  std::vector<std::string> lines;
  const ir::Training training = testing::two_layers({});
  lower(training, testing::on_two_processors(training), strategy_of(order), nullptr,
        [&](const PassBlocks& blocks) { lines = texts(blocks); });
  return lines;
}

// h = x * w1, y = h * w2: each chunk's weight gradient is added up in its pass.
TEST(Passes, OfASplitScheduleAreInHalves) {
  EXPECT_THAT(texts_in(PipelineOrder::ZeroBubbleH1),
              ElementsAre("F0@0: h", "F0@1: y", "I0@1: dh", "W0@1: dw2 sum2_next", "W0@0: dw1 sum1_next"));
}

TEST(Passes, OfAWholeScheduleHaveNoWeightGradients) {
  EXPECT_THAT(texts_in(PipelineOrder::OneForwardOneBackward),
              ElementsAre("F0@0: h", "F0@1: y", "I0@1: dh dw2 sum2_next", "I0@0: dw1 sum1_next"));
}

TEST(Passes, OfLockstepTurnInTheLastChunk) {
  EXPECT_THAT(texts_on_the_way(PipelineOrder::Lockstep),
              ElementsAre("F0@0: h", "F0@1: y dh dw2 sum2_next", "I0@0: dw1 sum1_next"));
}

TEST(Passes, OnTheWayToAProgramAreTheSame) {
  for (PipelineOrder order : {PipelineOrder::ZeroBubbleH1, PipelineOrder::OneForwardOneBackward})
    EXPECT_EQ(texts_on_the_way(order), texts_in(order));
}

// h and y wait for the way back of chunk 1; chunk 0 reads what the host has given, which is loaded again.
TEST(Passes, KnowWhatWaitsAndWhatStays) {
  show_blocks(PipelineOrder::ZeroBubbleH1, [](const PassBlocks& blocks) {
    EXPECT_THAT(blocks.kept_bytes, ElementsAre(0, 2 * 7 * 4));
    EXPECT_EQ(blocks.layout.processor_of, (std::vector<int>{0, 1}));
    EXPECT_FALSE(blocks.updates.empty());
    for (const std::int64_t bytes : blocks.variable_bytes) EXPECT_GT(bytes, 7 * 4);
  });
}

}  // namespace
}  // namespace podium::lower
