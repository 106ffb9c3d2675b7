#include "executor/lower/draft/draft.h"

#include <gtest/gtest.h>

#include "executor/lower/placed/parts.h"
#include "ir/ops/group_exchange.h"
#include "tests/executor/lower/draft/draft_sketch.h"

namespace podium::lower {
namespace {

constexpr const char* kChain = "g (float[2] x) => (float[2] y) { a = Relu(x) y = Exp(a) }";

TEST(Draft, GivesAValueOneBufferInAMemoryOfAProcessor) {
  testing::DraftSketch sketch(kChain);
  Draft& draft = sketch.draft;
  const executor::BufferId here = draft.buffer(sketch.value("a"), 0);
  EXPECT_EQ(draft.buffer(sketch.value("a"), 0), here);
  EXPECT_NE(draft.buffer(sketch.value("a"), 1), here);
  EXPECT_NE(draft.buffer(sketch.value("a"), 0, executor::Memory::IO), here);
  EXPECT_EQ(draft.program[here].name, "a");
}

TEST(Draft, GivesAnotherBufferFromThenOn) {
  testing::DraftSketch sketch(kChain);
  Draft& draft = sketch.draft;
  const executor::BufferId first = draft.buffer(sketch.value("a"), 0);
  const executor::BufferId second = draft.another_buffer(sketch.value("a"), draft.program[first]);
  EXPECT_NE(second, first);
  EXPECT_EQ(draft.buffer(sketch.value("a"), 0), second);
}

TEST(Draft, KnowsWhatTheHostGivesAndTakes) {
  testing::DraftSketch sketch(kChain, {.batches_per_step = 3});
  EXPECT_EQ(sketch.draft.input_index(sketch.value("x")), 0);
  EXPECT_EQ(sketch.draft.input_index(sketch.value("a")), -1);
  EXPECT_EQ(sketch.draft.output_indices(sketch.value("y")), (std::vector<int>{0}));
  ASSERT_EQ(sketch.draft.program.inputs.size(), 1U);
  EXPECT_EQ(sketch.draft.program.inputs[0].micro_batches, 3);
}

TEST(Draft, GivesAMemberOfAnExchangeItsConstant) {
  testing::DraftSketch sketch(
      "g (float[2] x) => (float[2] y, float[2] z) <float[2] c = {1, 2}> { y = Neg(x) z = Neg(c) }");
  ir::Op exchange{.spec = ir::find_op("podium", ir::kGroupAllReduce),
                  .inputs = {sketch.value("x"), sketch.value("c")},
                  .outputs = {sketch.value("y"), sketch.value("z")}};
  ir::set_attribute(exchange, ir::kGroupProcessors, ir::IntList{0, 1});
  ir::Graph graph = sketch.placed.graph();
  graph.ops = {exchange};
  ir::IdMap<ir::OpId, Turn> turns;
  turns.push_back({.meeting = Meeting::OfGroup});
  std::vector<Part> parts = make_parts(graph, turns);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(sketch.text(sketch.draft.run(parts[0], "meeting")),
            "all-reduce in group x@0 -> y@0, c@1 -> z@1\n");
  const executor::Buffer& held = sketch.draft.program[sketch.draft.buffer(sketch.value("c"), 1)];
  ASSERT_EQ(held.initial.size(), 1U);
  EXPECT_EQ(held.initial[0].data<float>()[1], 2);
}

}  // namespace
}  // namespace podium::lower
