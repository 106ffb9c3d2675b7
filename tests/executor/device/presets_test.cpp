#include "executor/device/presets.h"

#include <gtest/gtest.h>

#include <set>

namespace podium::device {
namespace {

TEST(Presets, HaveNamesOfTheirOwnAndAreFoundByThem) {
  std::set<std::string_view> names;
  for (std::string_view name : preset_names()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    ASSERT_NE(find_preset(name), nullptr) << name;
    EXPECT_EQ(find_preset(name)->name, name);
  }
  EXPECT_EQ(find_preset("ipu-m2001"), nullptr);
  ASSERT_NE(find_preset(kDefaultPreset), nullptr);
}

TEST(Presets, OfTheSecondMarkHaveTheProcessorOfItsDataSheet) {
  const Device& device = *find_preset("ipu-m2000");
  EXPECT_EQ(device.processors, 4);
  EXPECT_EQ(device.memory_bytes(), 940'572'672);  // 1472 tiles of 624 KiB
  EXPECT_NEAR(2 * device.matrix.half_half * device.tiles * device.clock_hertz, 250.6e12, 0.1e12);
  EXPECT_NEAR(2 * device.matrix.single * device.tiles * device.clock_hertz, 62.6e12, 0.1e12);
}

TEST(Presets, GrowIntoPodsOfTheSameProcessor) {
  const Device& machine = *find_preset("bow-2000");
  const Device& pod = *find_preset("bow-pod1024");
  EXPECT_EQ(pod.processors, 1024);
  EXPECT_EQ(pod.topology, Topology::Torus);
  EXPECT_EQ(pod.clock_hertz, machine.clock_hertz);
  EXPECT_EQ(pod.rail.bytes_per_second, machine.rail.bytes_per_second);
}

}  // namespace
}  // namespace podium::device
