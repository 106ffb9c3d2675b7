#include "executor/compare/variations.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace podium::compare {
namespace {

std::vector<std::string> changes(const Strategy& strategy, const Request& request) {
  std::vector<std::string> texts;
  for (const Variation& one : variations({.name = "a", .strategy = strategy}, request, {"y"}))
    texts.push_back(one.change.dump());
  return texts;
}

TEST(Variations, OfAPipelineAreWhatItCouldDoOtherwise) {
  const Strategy strategy{
      .virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 4, .pipelining = true, .batches_per_step = 16};
  const auto found = changes(strategy, {.processors = 8, .tiles = 1472});
  EXPECT_THAT(found,
              ::testing::IsSupersetOf({R"({"batchesPerStep":32})", R"({"numIPUs":8})", R"({"numIPUs":2})"}));
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const std::string& text) { return text.find("anchors") != std::string::npos; }));
  // Only training recomputes.
  EXPECT_TRUE(std::none_of(found.begin(), found.end(), [](const std::string& text) {
    return text.find("autoRecomputation") != std::string::npos;
  }));
}

TEST(Variations, LeaveOutWhatTheMachineHasNotAndWhatChangesNothing) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 4};
  strategy.weights.location.storage = ir::Storage::OffChip;
  const auto found = changes(strategy, {.task = Task::Training, .processors = 4, .tiles = 1472});
  EXPECT_THAT(found, ::testing::Not(::testing::Contains(R"({"numIPUs":8})")));
  EXPECT_TRUE(std::none_of(found.begin(), found.end(), [](const std::string& text) {
    return text.find("weightTensorLocationSettings") != std::string::npos;
  }));
}

TEST(BetterDevices, AreEachTwiceAsGoodInOneRespect) {
  device::Device device;
  device.rung.bytes_per_second = 3;
  const auto better = better_devices(device);
  EXPECT_EQ(better.size(), 5U);
  EXPECT_EQ(better[0].device.rung.bytes_per_second, 6);
  EXPECT_EQ(better[3].device.clock_hertz, 2 * device.clock_hertz);
  EXPECT_EQ(better[4].device.tiles, 2 * device.tiles);
}

}  // namespace
}  // namespace podium::compare
