// Which pass of which chunk an op belongs to.
#include "executor/lower/placed/chunks.h"

#include <gmock/gmock.h>

#include "executor/lower/graph/add_second_copy.h"
#include "tests/executor/lower/trained.h"

namespace podium::lower {
namespace {

std::map<std::string, std::string> passes_of(const Chunks& chunks, const PlacedGraph& placed) {
  std::map<std::string, std::string> passes;
  for (ir::OpId op : placed.graph().op_ids()) {
    if (placed.is_outer(op)) continue;
    const ChunkPass& of = chunks.of_op[op];
    passes[placed.graph()[placed.graph()[op].outputs[0]].name] =
        schedule::written_out({of.pass, of.chunk, 0});
  }
  return passes;
}

// The loss, y, is in the last chunk with its way back; dh goes to the first chunk, dw2 stays.
TEST(Chunks, CutTheWayBack) {
  const ir::Training training = testing::two_layers({});
  const PlacedGraph placed(training, testing::on_two_processors(training));
  const Chunks chunks = find_chunks(placed, Adjacent::AreOne);
  EXPECT_EQ(chunks.layout.processor_of, (std::vector<int>{0, 1}));
  EXPECT_EQ(passes_of(chunks, placed), (std::map<std::string, std::string>{{"h", "F0@0"},
                                                                           {"y", "F0@1"},
                                                                           {"dh", "I0@1"},
                                                                           {"dw2", "W0@1"},
                                                                           {"sum2_next", "W0@1"},
                                                                           {"dw1", "W0@0"},
                                                                           {"sum1_next", "W0@0"}}));
}

TEST(Chunks, WithoutTrainingGoForward) {
  ir::Training training = testing::two_layers({});
  training.updates.clear();
  const PlacedGraph placed(training, testing::on_two_processors(training));
  const Chunks chunks = find_chunks(placed, Adjacent::AreOne);
  EXPECT_EQ(chunks.layout.processor_of, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(passes_of(chunks, placed)["dw1"], "F0@2");
}

TEST(Chunks, OnOneProcessorAreOneUnlessTheyAreKeptApart) {
  const ir::Training training = testing::two_layers({});
  ir::Placement placement = testing::on_two_processors(training);
  for (ir::OpPlacement& op : placement.ops) op.processor = 0;
  placement.processors = 1;
  const PlacedGraph placed(training, placement);
  EXPECT_EQ(find_chunks(placed, Adjacent::AreOne).layout.processor_of, (std::vector<int>{0}));
  const Chunks apart = find_chunks(placed, Adjacent::AreApart);
  EXPECT_EQ(apart.layout.processor_of, (std::vector<int>{0, 0}));
  EXPECT_EQ(passes_of(apart, placed)["dw1"], "W0@0");
}

TEST(Chunks, OfTheSecondCopyAreBehindThoseOfTheFirst) {
  const ir::Training training = testing::two_layers({});
  PlacedGraph placed(training, testing::on_two_processors(training));
  add_second_copy(placed);
  const Chunks chunks = find_chunks(placed, Adjacent::AreOne);
  EXPECT_EQ(chunks.layout, schedule::layout_of(schedule::Shape::TwoWay, 2, 1));
  std::map<std::string, int> times;
  for (const ir::OpId op : placed.graph().op_ids()) {
    if (!placed.is_outer(op))
      ++times[schedule::written_out({chunks.of_op[op].pass, chunks.of_op[op].chunk, 0})];
  }
  EXPECT_EQ(times, (std::map<std::string, int>{{"F0@0", 1},
                                               {"F0@1", 1},
                                               {"I0@1", 1},
                                               {"W0@1", 2},
                                               {"W0@0", 2},
                                               {"F0@2", 1},
                                               {"F0@3", 1},
                                               {"I0@3", 1},
                                               {"W0@3", 2},
                                               {"W0@2", 2}}));
}

}  // namespace
}  // namespace podium::lower
