// Large Programs.
#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

TEST(Scale, TwentyThousandStepsOverAThousandProcessors) {
  Sketch sketch(1024, {.host = 0.5, .copy = 0.25});
  Steps& steps = sketch.program.steps;
  for (int i = 0; i < 5000; ++i) {
    const int here = i % 1024;
    const int next = (i + 1) % 1024;
    const Slot x = sketch.buffer("x", here);
    const Slot y = sketch.buffer("y", here);
    const Slot z = sketch.buffer("z", next);
    for (Step step : {sketch.from_host(x), sketch.compute("work", here, 1, {x}, {y}), copy({{y, z}}),
                      sketch.to_host(z)}) {
      steps.push_back(std::move(step));
    }
  }
  EXPECT_DOUBLE_EQ(sketch.run().makespan, 5000 * (0.5 + 1 + 0.25 + 0.5) * kMicro);
}

}  // namespace
}  // namespace podium::testing
