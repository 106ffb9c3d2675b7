// Steps that cannot run in the order in which each processor has them.
#include "executor/sim/deadlock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"
#include "tests/support/refusal.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;

std::string fault_of(Sketch& sketch) {
  return testing::refusal<InternalError>([&] { sketch.run(); });
}

// Each of two processors first computes what needs the other's result.
TEST(Deadlock, OfTwoProcessorsIsToldWithItsCycle) {
  Sketch sketch(2);
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot from_a = sketch.buffer("from_a", 1);
  const Slot from_b = sketch.buffer("from_b", 0);
  sketch.program.steps = {sketch.compute("left", 0, 1, {from_b}, {a}), copy({{a, from_a}}),
                          sketch.compute("right", 1, 1, {from_a}, {b}), copy({{b, from_b}})};
  EXPECT_EQ(fault_of(sketch),
            "deadlock: \"compute left on ipu 0\" waits for \"copy b@1 -> from_b@0\", which waits for "
            "\"compute left on ipu 0\"");
}

// What processors send each other passes what they compute, so the way leads over all data.
TEST(Deadlock, LeadsOverComputesAndExchanges) {
  Sketch sketch(3);
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot c = sketch.buffer("c", 2);
  const Slot b_in = sketch.buffer("b_in", 1);
  const Slot c_in = sketch.buffer("c_in", 2);
  const Slot a_in = sketch.buffer("a_in", 0);
  sketch.costs.synchronous = false;
  sketch.program.steps = {copy({{a, b_in}}), sketch.compute("second", 1, 1, {b_in}, {b}),
                          copy({{b, c_in}}), sketch.compute("third", 2, 1, {c_in}, {c}),
                          copy({{c, a_in}}), sketch.compute("first", 0, 1, {a_in}, {a})};
  EXPECT_EQ(fault_of(sketch),
            "deadlock: \"copy a@0 -> b_in@1\" waits for \"compute first on ipu 0\", which waits for "
            "\"copy c@2 -> a_in@0\", which waits for \"compute third on ipu 2\", which waits for "
            "\"copy b@1 -> c_in@2\", which waits for \"compute second on ipu 1\", which waits for "
            "\"copy a@0 -> b_in@1\"");
}

TEST(Deadlock, OfASlotThatOnlyTheNextTurnFills) {
  Sketch sketch(1);
  const Slot ring = sketch.buffer("ring", 0, Memory::Compute, 3);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {repeat(5, {sketch.compute("use", 0, 1, {entry(ring, 0, 1)}, {y}),
                                     sketch.compute("fill", 0, 1, {y}, {entry(ring, 0, 1)})})};
  EXPECT_THAT(fault_of(sketch), HasSubstr("\"compute use on ipu 0\" waits for \"compute fill on ipu 0\""));
}

TEST(Deadlock, OfASlotThatIsFilledTooLateInALoop) {
  Sketch sketch(1);
  const Slot ring = sketch.filled("ring", 0);
  const Slot other = sketch.buffer("other", 0, Memory::Compute, 3);
  sketch.program.steps = {sketch.compute("fill", 0, 1, {}, {entry(other, 0)}),
                          repeat(5, {sketch.compute("use", 0, 1, {entry(other, 0, 1)}, {ring})})};
  EXPECT_EQ(fault_of(sketch), "\"compute use on ipu 0\" reads other, which no step before it fills");
}

TEST(Deadlock, NotOfWhatWasThereBeforeTheRun) {
  Sketch sketch(1);
  const Slot weight = sketch.filled("weight", 0);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {sketch.compute("use", 0, 1, {weight}, {y})};
  EXPECT_EQ(fault_of(sketch), "");
}

TEST(Deadlock, OfAValueThatIsGone) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Slot z = sketch.buffer("z", 0);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("first", 0, 1, {x}, {y}),
                          sketch.compute("second", 0, 1, {x}, {z})};
  EXPECT_EQ(fault_of(sketch), "");
  std::swap(sketch.program.steps[1].frees, sketch.program.steps[2].frees);
  EXPECT_THROW(sketch.clock(), InternalError);
}

}  // namespace
}  // namespace podium::testing
