#include "executor/lower/strategies/strategies.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

constexpr const char* kChain = "g (float[2] x) => (float[2] y) { a = Relu(x) b = Exp(a) y = Neg(b) }";

TEST(Strategies, AreChosenByWhatIsAskedFor) {
  const auto steps = [](const Strategy& strategy) {
    const testing::Placed model = testing::placed(kChain, {0, 1, 1});
    return testing::steps_of(lower(model.graph, model.placement, strategy));
  };
  const Strategy sharded{.virtual_graph_mode = VirtualGraphMode::Manual, .batches_per_step = 4};
  Strategy pipelined = sharded;
  pipelined.pipelining = true;
  // One processor after the other for each batch, or the first already at work on the next one.
  EXPECT_TRUE(steps(sharded).starts_with("repeat 4 times\n"));
  EXPECT_FALSE(steps(pipelined).starts_with("repeat 4 times\n"));
}

}  // namespace
}  // namespace podium::lower
