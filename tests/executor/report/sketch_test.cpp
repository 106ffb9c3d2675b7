#include "executor/report/sketch.h"

#include <gtest/gtest.h>

namespace podium::report {
namespace {

using sim::Activity;

// Half of the step computes, a quarter exchanges; the rest repeats what was before.
sim::Timeline three_parts() {
  sim::Timeline timeline;
  timeline.makespan = 4;
  timeline.processors.resize(2);
  timeline.processors[0].memory_curve = {{0, 10}, {1, 70}, {1.001, 30}, {3, 20}};
  timeline.processors[0].memory = {.peak = 70, .capacity = 100};
  timeline.events = {{.start = 0, .end = 2, .processor = 0, .activity = Activity::Compute},
                     {.start = 2, .end = 3, .processor = 0, .activity = Activity::Exchange},
                     {.start = 0, .end = 4, .processor = 0, .lane = sim::Lane::Io},
                     {.start = 0, .end = 1.5, .processor = 1, .activity = Activity::RemoteLoad}};
  timeline.folded = {{.start = 3, .end = 4, .processor = 0, .iterations = 9}};
  return timeline;
}

std::string repeated(char letter, int eighths) {
  return std::string(static_cast<std::size_t>(eighths * kSketchBins / 8), letter);
}

TEST(Sketch, HasALetterForWhatTakesMostOfEachBin) {
  const Sketch sketch = sketch_of(three_parts());
  ASSERT_EQ(sketch.lanes.size(), 2U);
  EXPECT_EQ(sketch.lanes[0], repeated('a', 4) + repeated('b', 2) + repeated('~', 2));
  EXPECT_EQ(sketch.lanes[1], repeated('h', 3) + repeated('.', 5));
}

TEST(Sketch, HasTheMostMemoryOfEachBin) {
  const std::vector<std::int64_t> memory = sketch_of(three_parts()).memory;
  ASSERT_EQ(memory.size(), static_cast<std::size_t>(kSketchBins));
  EXPECT_EQ(memory[0], 10);
  EXPECT_EQ(memory[kSketchBins / 4], 70);
  EXPECT_EQ(memory[kSketchBins / 2], 30);
  EXPECT_EQ(memory.back(), 20);
}

TEST(Sketch, OfNothingIsEmpty) { EXPECT_TRUE(sketch_of({}).lanes.empty()); }

}  // namespace
}  // namespace podium::report
