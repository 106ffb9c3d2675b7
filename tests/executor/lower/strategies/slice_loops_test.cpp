#include "executor/lower/strategies/slice_loops.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/draft/draft_sketch.h"
#include "tests/executor/lower/placed.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

// On processor 1 the row of `a`, which phase 1 reads, is free for `c` in phase 2.
constexpr const char* kFivePhases = R"(g (float[2] x) => (float[2] y) {
  a = Relu (x)
  b = Neg <__execution_phase = 1, __ipu_number = 1> (a)
  c = Add <__execution_phase = 2> (a, b)
  d = Neg <__execution_phase = 3, __ipu_number = 1> (c)
  y = Add <__execution_phase = 4> (c, d)
})";

struct Sliced {
  testing::DraftSketch sketch;
  Remote remote{sketch.draft};
  std::vector<Part> parts;
  SlicePlan plan;

  explicit Sliced(const char* graph, IoMode mode = IoMode::Compute)
      : sketch(graph, strategy(mode)),
        parts(make_parts(sketch.placed.graph(), sketch.turns(), {.streamed = remote.streamed()})),
        plan(plan_slices(sketch.draft, remote, parts)) {}

  static Strategy strategy(IoMode mode) {
    Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
    strategy.phases.phases = 5;
    strategy.batch_serialization = {4, mode};
    if (mode != IoMode::Compute) strategy.io_tiles = 32;
    return strategy;
  }
  std::string text() const { return to_string(plan, sketch.placed.graph()); }
  std::string steps(std::size_t part) {
    HostIo io(sketch.draft);
    add_buffers(sketch.draft, plan);
    sketch.draft.program.steps = run_slices(sketch.draft, io, plan, parts, {part, part + 1, {"block"}});
    return testing::steps_of(sketch.draft.program);
  }
};

TEST(SliceLoops, PlanGivesARowAgainOnceItsLastReaderIsOver) {
  EXPECT_EQ(Sliced(kFivePhases).text(),
            "buffer 0: 4 slots of float[2] on ipu 1\n"
            "buffer 1: 12 slots of float[2] on ipu 0\n"
            "row 0: a in buffer 0 from slot 0\n"
            "row 1: a in buffer 1 from slot 0\n"
            "row 2: b in buffer 1 from slot 4\n"
            "row 3: c in buffer 0 from slot 0\n"
            "row 4: c in buffer 1 from slot 8\n"
            "row 5: d in buffer 1 from slot 0\n"
            "part 0: load x from host\n"
            "part 0: store a to row 0 over ipu 1\n"
            "part 0: store a to row 1\n"
            "part 1: load a from row 0\n"
            "part 1: store b to row 2 over ipu 0\n"
            "part 2: load a from row 1\n"
            "part 2: load b from row 2\n"
            "part 2: store c to row 3 over ipu 1\n"
            "part 2: store c to row 4\n"
            "part 3: load c from row 3\n"
            "part 3: store d to row 5 over ipu 0\n"
            "part 4: load c from row 4\n"
            "part 4: load d from row 5\n"
            "part 4: store y to host\n");
}

TEST(SliceLoops, PlanCopiesWithinAPhaseAndLoadsNothingTwice) {
  EXPECT_EQ(Sliced(R"(g (float[2] x) => (float[2] y, float[2] z) {
    a = Relu (x)
    y = Neg <__ipu_number = 1> (a)
    b = Add <__execution_phase = 2, __ipu_number = 1> (a, y)
    z = Add <__execution_phase = 2, __ipu_number = 1> (a, b)
  })")
                .text(),
            "buffer 0: 8 slots of float[2] on ipu 1\n"
            "row 0: a in buffer 0 from slot 0\n"
            "row 1: y in buffer 0 from slot 4\n"
            "part 0: load x from host\n"
            "part 0: copy a to ipu 1\n"
            "part 0: store a to row 0\n"
            "part 1: store y to row 1\n"
            "part 1: store y to host\n"
            "part 2: load a from row 0\n"
            "part 2: load y from row 1\n"
            "part 2: store z to host\n");
}

TEST(SliceLoops, ASliceIsLoadedFromItsRowAndStoredInOne) {
  EXPECT_EQ(Sliced(kFivePhases).steps(2),
            "repeat 4 times\n"
            "  load slices1@0.streaming[0+1i] -> a@0\n"
            "  load slices1@0.streaming[4+1i] -> b@0\n"
            "  compute block on ipu 0: (a@0, b@0) -> (c@0)\n"
            "  copy c@0 -> c@1\n"
            "  store c@1 -> slices0@1.streaming[0+1i]\n"
            "  store c@0 -> slices1@0.streaming[8+1i]\n");
}

TEST(SliceLoops, OverTheIoTilesItWaitsThereOnItsWay) {
  EXPECT_EQ(Sliced(kFivePhases, IoMode::Io).steps(2),
            "repeat 4 times\n"
            "  load slices1@0.streaming[0+1i] -> a@0.io\n"
            "  load slices1@0.streaming[4+1i] -> b@0.io\n"
            "  tiles a@0.io -> a@0\n"
            "  tiles b@0.io -> b@0\n"
            "  compute block on ipu 0: (a@0, b@0) -> (c@0)\n"
            "  tiles c@0 -> c@0.io\n"
            "  copy c@0 -> c@1.io\n"
            "  store c@1.io -> slices0@1.streaming[0+1i]\n"
            "  store c@0.io -> slices1@0.streaming[8+1i]\n");
}

}  // namespace
}  // namespace podium::lower
