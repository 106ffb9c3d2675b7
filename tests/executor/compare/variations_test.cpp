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

TEST(Variations, AreOfTheKindOfDeviceThatHasWhatTheyTake) {
  const Strategy strategy{.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 4};
  const auto has = [&](const Request& request, const std::string& option) {
    const auto found = changes(strategy, request);
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& text) { return text.find(option) != std::string::npos; });
  };
  EXPECT_TRUE(has({.tiles = 1472}, "numIOTiles"));
  for (const device::ProcessorKind kind :
       {device::ProcessorKind::Gpu, device::ProcessorKind::Tpu, device::ProcessorKind::Cpu})
    EXPECT_FALSE(has({.kind = kind, .tiles = 1472}, "numIOTiles"));
  EXPECT_TRUE(has({.tiles = 1472}, "OffChip"));
  EXPECT_FALSE(has({.tiles = 1472, .has_streaming_memory = false}, "OffChip"));
}

TEST(Variations, OfPhasesThatTakeTurnsHaveReplicasOfBothProcessors) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases = {.phases = 4, .stages = 2};
  const auto replicated = [](const std::vector<std::string>& found) {
    std::vector<std::string> texts;
    std::copy_if(found.begin(), found.end(), std::back_inserter(texts), [](const std::string& text) {
      return text.find("replicatedGraphCount") != std::string::npos;
    });
    return texts;
  };
  EXPECT_THAT(replicated(changes(strategy, {.processors = 4})),
              ::testing::ElementsAre(::testing::HasSubstr("\"numIPUs\":4")));
  EXPECT_THAT(replicated(changes(strategy, {.processors = 2})), ::testing::IsEmpty());
}

TEST(Variations, NameManyOutputsTogether) {
  const Strategy strategy{.batches_per_step = 16};
  const auto change = [&](const std::vector<std::string>& outputs) {
    return variations({.name = "a", .strategy = strategy}, {.processors = 1}, outputs).at(0).change.dump();
  };
  EXPECT_EQ(change({"y", "z"}), R"({"anchors":{"y":{"returnType":"Final"},"z":{"returnType":"Final"}}})");
  EXPECT_EQ(change({"a", "b", "c", "d", "e"}), R"({"anchors":{"*":{"returnType":"Final"}}})");
}

TEST(BetterDevices, AreEachTwiceAsGoodInOneRespect) {
  device::Device device;
  device.rung.bytes_per_second = 3;
  const auto better = better_devices(device);
  EXPECT_EQ(better.size(), 5U);
  EXPECT_EQ(better[0].device.rung.bytes_per_second, 6);
  EXPECT_EQ(better[0].device.collective_overhead_seconds, device.collective_overhead_seconds / 2);
  EXPECT_EQ(better[2].device.host_call_seconds, device.host_call_seconds / 2);
  EXPECT_EQ(better[2].device.rung.bytes_per_second, 3);
  EXPECT_EQ(better[3].device.clock_hertz, 2 * device.clock_hertz);
  EXPECT_EQ(better[4].device.tiles, 2 * device.tiles);
  EXPECT_EQ(better[4].name, "tiles");
  device.kind = device::ProcessorKind::Tpu;
  EXPECT_EQ(better_devices(device)[4].name, "cores");
}

TEST(BetterDevices, AreClockedUpToTheFirstThatRefuses) {
  std::vector<BetterDevice> devices(4);
  for (int i = 0; i < 4; ++i) devices[i].device.tiles = i;
  const auto clocked_until = [&](int refused) {
    std::vector<double> found;
    const auto clock = [&](const device::Device& device) {
      if (device.tiles == refused) throw Error("no");
      sim::Timeline timeline;
      timeline.makespan = device.tiles;
      return timeline;
    };
    for (const sim::Timeline& one : clock_on(devices, 3, clock)) found.push_back(one.makespan);
    return found;
  };
  EXPECT_THAT(clocked_until(9), ::testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(clocked_until(2), ::testing::ElementsAre(0, 1));
  EXPECT_THROW(clock_on(devices, 3, [](const device::Device&) -> sim::Timeline { throw std::bad_alloc(); }),
               std::bad_alloc);
}

}  // namespace
}  // namespace podium::compare
