#include "executor/lower/draft/draft.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace podium::lower
