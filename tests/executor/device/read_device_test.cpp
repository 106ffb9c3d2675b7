#include "executor/device/read_device.h"

#include <gtest/gtest.h>

#include <tuple>

#include "executor/device/fields.h"
#include "executor/device/presets.h"
#include "ir/error.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium::device {
namespace {

std::string refusal(const std::string& text) {
  return testing::refusal([&] { parse_device(text); });
}

TEST(ReadDevice, KnowsPresetsByName) { EXPECT_EQ(read_device("bow-pod16").processors, 16); }

TEST(ReadDevice, WritesWhatItReadsBackForEveryPreset) {
  for (std::string_view name : preset_names()) {
    const std::string text = to_json(*find_preset(name));
    EXPECT_EQ(to_json(parse_device(text)), text) << name;
  }
}

// A field that the table forgot would keep its default: every number of the text is changed and must come
// back.
TEST(ReadDevice, ReadsEveryFieldIntoAPlaceOfItsOwn) {
  Device device = *find_preset("ipu-m2000");
  int next = 0;
  for (const Field& field : fields()) {
    std::visit(
        [&]<class T>(Access<T> access) {
          if constexpr (std::is_same_v<T, bool>) {
            access(device) = !access(device);
          } else if constexpr (std::is_same_v<T, Topology>) {
            access(device) = Topology::Torus;
          } else {
            access(device) = static_cast<T>(field.least + (field.most - field.least) * ++next / 128);
          }
        },
        field.access);
  }
  const std::string text = to_json(device);
  EXPECT_EQ(to_json(parse_device(text)), text);
}

TEST(ReadDevice, ChangesABase) {
  const Device device =
      parse_device(R"({"base": "ipu-m2000", "name": "mine", "tiles": 100, "synchronous": false})");
  EXPECT_EQ(device.name, "mine");
  EXPECT_EQ(device.tiles, 100);
  EXPECT_FALSE(device.synchronous);
  EXPECT_EQ(device.clock_hertz, 1.33e9);
}

TEST(ReadDevice, SaysWhichFileWhichFieldAndWhatIsNeeded) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("slow.json", R"({"base": "c600", "clockHertz": 0})");
  try {
    read_device(file);
    FAIL() << "a clock that stands still";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              file + ": field 'clockHertz' is 0, a number from 1000000 to 100000000000 Hz needed");
  }
}

TEST(ReadDevice, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal(R"({"base": "c600", "tiles": 0})"),
            "field 'tiles' is 0, a number from 1 to 1048576 needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "tiles": 1.5})"), "field 'tiles' is 1.5, a whole number needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "tiles": "many"})"),
            "field 'tiles' is \"many\", a number from 1 to 1048576 needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "railLatencySeconds": -1})"),
            "field 'railLatencySeconds' is -1, a number from 0 to 1 s needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "tileMemoryBytes": 1e30})"),
            "field 'tileMemoryBytes' is 1e+30, a number from 1024 to 1099511627776 bytes needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "topology": "star"})"),
            "field 'topology' is \"star\", allToAll, ladder or torus needed");
  EXPECT_EQ(refusal(R"({"base": "c600", "synchronous": 1})"),
            "field 'synchronous' is 1, true or false needed");
}

TEST(ReadDevice, RefusesNamesItDoesNotKnow) {
  EXPECT_EQ(refusal(R"({"base": "c600", "clockHerz": 1e9})"),
            "unknown field 'clockHerz', nearest is 'clockHertz'");
  EXPECT_EQ(refusal(R"({"base": "c60"})"),
            "field 'base' is 'c60', the name of a preset needed (nearest: 'c600')");
  EXPECT_THROW(read_device("ipu-m200"), Error);
}

TEST(ReadDevice, RefusesWhatIsNoFile) {
  const testing::TemporaryFolder folder;
  EXPECT_THROW(read_device(folder.path()), Error);
  EXPECT_THROW(read_device(folder.write("empty.json", "")), Error);
}

TEST(ReadDevice, RefusesAFileThatLeavesFieldsOut) {
  EXPECT_EQ(refusal(R"({"processors": 4})"),
            "field 'tiles' is missing: give it, or 'base', the name of a preset");
}

TEST(ReadDevice, RefusesWhatIsNoObject) {
  EXPECT_EQ(refusal("[1]"), "found JSON that is no object, an object of device fields needed");
  EXPECT_EQ(refusal(""), "not JSON at byte 1, an object of device fields needed");
  EXPECT_EQ(refusal(R"({"tiles": 1e999})"), "a number is too large for any field");
  EXPECT_EQ(refusal("{"), "not JSON at byte 2, an object of device fields needed");
}

TEST(ReadDevice, RefusesAPodWithHalfARungOrPartOfARack) {
  EXPECT_EQ(refusal(R"({"base": "ipu-m2000", "processors": 5})"),
            "field 'processors' is 5, an even number (or 1) needed: a ladder consists of pairs");
  EXPECT_EQ(refusal(R"({"base": "ipu-pod64", "processors": 96})"),
            "field 'processors' is 96, a multiple of linkDomain, 64, needed");
}

TEST(ReadDevice, TakesAPresetInAnotherSize) {
  EXPECT_EQ(read_device("h100:nodes=16").processors, 128);
  EXPECT_EQ(read_device("h100:processors=1").processors, 1);
  EXPECT_EQ(read_device("gb200-nvl72:nodes=36").processors, 144);
  EXPECT_EQ(parse_device(R"({"base": "h100:nodes=2", "clockHertz": 1e9})").processors, 16);
}

TEST(ReadDevice, RefusesASizeThatIsNone) {
  for (const char* name :
       {"h100:nodes=0", "h100:nodes=", "h100:racks=2", "h100:nodes=2x", "h100:nodes=99999999"})
    EXPECT_THROW(read_device(name), Error) << name;
  EXPECT_THROW(read_device("h100:processors=12"), Error);  // a node and a half
}

// Each name is a machine that read_device knows.
TEST(LargerMachine, IsTheSmallestOfTheSameProcessorsThatHasEnough) {
  const std::tuple<const char*, int, const char*> cases[] = {
      {"ipu-m2000", 5, "ipu-pod16"},
      {"ipu-pod16", 65, "ipu-pod128"},
      {"ipu-m2000", 1025, "ipu-pod1024:nodes=272"},
      {"bow-2000", 17, "bow-pod64"},
      {"h100", 9, "h100:nodes=2"},
      {"h100:nodes=2", 40, "h100:nodes=5"},
      {"h100:processors=1", 4, "h100"},
      {"a100-80:processors=4", 8, "a100-80"},
      {"gb200-nvl72", 73, "gb200-nvl72:nodes=36"},
      {"tpu-v4", 65, "tpu-v4:nodes=17"},
  };
  for (const auto& [name, processors, larger] : cases) {
    EXPECT_EQ(larger_machine(read_device(name), processors), larger);
    EXPECT_GE(read_device(larger).processors, processors);
  }
}

TEST(LargerMachine, IsNoneWhereNoneIsKnown) {
  EXPECT_EQ(larger_machine(read_device("c600"), 2), "");
  EXPECT_EQ(larger_machine(read_device("h100"), 1 << 21), "");
  Device own = read_device("h100");
  own.clock_hertz *= 2;
  EXPECT_EQ(larger_machine(own, 9), "");
  own.name = "mine";
  EXPECT_EQ(larger_machine(own, 9), "");
}

}  // namespace
}  // namespace podium::device
