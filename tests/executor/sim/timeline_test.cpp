#include "executor/sim/timeline.h"

#include <gtest/gtest.h>

namespace podium::sim {
namespace {

Timeline with_memory(const MemoryUse& use) {
  Timeline timeline;
  timeline.processors.resize(2);
  timeline.processors[1].memory = use;
  return timeline;
}

TEST(Timeline, FitsWhenEachProcessorsMemoryDoes) {
  EXPECT_TRUE(with_memory({.peak = 10, .capacity = 10, .streaming = 7, .streaming_capacity = 7}).fits());
  EXPECT_FALSE(with_memory({.peak = 11, .capacity = 10}).fits());
  EXPECT_FALSE(with_memory({.peak = 1, .capacity = 10, .streaming = 8, .streaming_capacity = 7}).fits());
}

}  // namespace
}  // namespace podium::sim
