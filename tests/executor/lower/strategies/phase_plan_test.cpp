#include "executor/lower/strategies/phase_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/executor/lower/draft/draft_sketch.h"

namespace podium::lower {
namespace {

// Four phases on one processor, each with a weight.
constexpr const char* kFourPhases = R"(g (float[2] x) => (float[2] y)
  <float[2] u = {1, 2}, float[2] v = {1, 2}, float[2] w = {3, 4}, float[2] z = {3, 4}> {
  a = Mul (x, u)
  b = Add <__execution_phase = 1> (a, v)
  c = Add <__execution_phase = 2> (b, w)
  y = Add <__execution_phase = 3> (c, z)
})";

// A line a phase, from the virtual one on: "0: preload v".
std::string weights_moved() {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases.phases = 4;
  strategy.weights.location.storage = ir::Storage::OffChip;
  testing::DraftSketch sketch(kFourPhases, strategy);
  Remote remote(sketch.draft);
  const auto parts = make_parts(sketch.placed.graph(), sketch.turns(), {.streamed = remote.streamed()});
  const PhasePlan plan = plan_phases(sketch.draft, remote, parts);
  std::string lines;
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    const auto add = [&](const char* what, const std::vector<Movement>& movements) {
      for (const Movement& one : movements)
        lines +=
            fmt::format("{}: {} {}\n", static_cast<int>(i) - 1, what, sketch.placed.graph()[one.value].name);
    };
    add("load", plan.phases[i].loads);
    add("preload", plan.phases[i].preloads);
    add("store", plan.phases[i].stores);
  }
  return lines;
}

TEST(PhasePlan, LoadsEachWeightAheadOfItsPhase) {
  EXPECT_EQ(weights_moved(),
            "-1: preload u\n"
            "0: preload v\n"
            "1: preload w\n"
            "2: preload z\n");
}

}  // namespace
}  // namespace podium::lower
