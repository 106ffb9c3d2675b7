#include "executor/device/sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"

namespace podium::device {
namespace {

Source source(const Device& device, std::string_view field) {
  return source_of(device, *std::ranges::find(fields(), field, &Field::name));
}

TEST(Sources, EveryNumberOfEveryPresetHasOne) {
  for (const std::string_view name : preset_names()) {
    for (const Field& field : fields()) {
      const Source found = source_of(*find_preset(name), field);
      EXPECT_NE(found, Source::Given) << name << " " << field.name;
      EXPECT_FALSE(name_of(found).empty());
    }
  }
}

TEST(Sources, PresetsOfOneKindMayDiffer) {
  EXPECT_EQ(source(*find_preset("ipu-pod16"), "clockHertz"), Source::Sheet);
  EXPECT_EQ(source(*find_preset("bow-pod16"), "clockHertz"), Source::Tool);
  EXPECT_EQ(source(*find_preset("a100-80"), "sustainedShare"), Source::Unused);
  EXPECT_EQ(source(*find_preset("h100"), "sustainedShare"), Source::Fit);
}

TEST(Sources, WhatAFileOrANameChangesIsGiven) {
  const Device nodes = read_device("h100:nodes=4");
  EXPECT_EQ(source(nodes, "processors"), Source::Given);
  EXPECT_EQ(source(nodes, "clockHertz"), Source::Sheet);
  Device device = *find_preset("ipu-pod16");
  device.clock_hertz *= 2;
  EXPECT_EQ(source(device, "clockHertz"), Source::Given);
  EXPECT_EQ(source(device, "tiles"), Source::Sheet);
  device.name = "mine";
  EXPECT_EQ(source(device, "tiles"), Source::Given);
}

}  // namespace
}  // namespace podium::device
