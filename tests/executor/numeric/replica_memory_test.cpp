#include "executor/numeric/replica_memory.h"

#include <gtest/gtest.h>

#include "tests/support/hand_made.h"
#include "tests/support/run_text.h"

namespace podium::numeric {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::HandMade;
using testing::tensor;

// The host's memory is there until the run ends.
TEST(ReplicaMemory, CopiesWhatOutlivesTheMemoryItIsIn) {
  HandMade made;
  made.buffer("a", {2});
  made.buffer("kept", {2});
  made.program.buffers[1].persistent = true;
  ReplicaMemory memory(made.program, 0);
  memory.start();
  float numbers[] = {1, 2};
  const Datum view(Tensor::view(ir::DataType::Float, {2}, numbers));
  for (const char* name : {"a", "kept"}) memory.fill(made.slot(name), 0, view);
  numbers[0] = 3;
  EXPECT_EQ(memory.read({}, made.slot("kept"), 0).tensor.data<float>()[0], 1);
  EXPECT_EQ(memory.read({}, made.slot("a"), 0).tensor.raw(), numbers);
}

TEST(ReplicaMemory, GivesBackWhatIsFreed) {
  HandMade made;
  made.buffer("a", {2});
  ReplicaMemory memory(made.program, 0);
  memory.start();
  memory.fill(made.slot("a"), 0, Datum(memory.pool(made.slot("a")).take(ir::DataType::Float, {2})));
  const void* taken = memory.read({}, made.slot("a"), 0).tensor.raw();
  memory.free(made.slot("a"), 0);
  EXPECT_EQ(memory.pool(made.slot("a")).take(ir::DataType::Float, {2}).raw(), taken);
}

TEST(ReplicaMemory, CountsSlotsRoundAndRound) {
  EXPECT_EQ(slot_index({.buffer = {}, .index = 2, .stride = 1}, 3, 2), 1U);
  EXPECT_EQ(slot_index({.buffer = {}, .index = 0, .stride = -1}, 3, 1), 2U);
}

}  // namespace
}  // namespace podium::numeric
