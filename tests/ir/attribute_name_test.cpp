#include "ir/attribute_name.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace podium::ir {
namespace {

TEST(AttributeName, IsItsText) {
  constexpr AttributeName kAxis = "axis";
  EXPECT_EQ(kAxis.text(), "axis");
  EXPECT_TRUE(kAxis == "axis");
  EXPECT_TRUE(kAxis != std::string("axes"));
  EXPECT_EQ(fmt::format("{:>6}", kAxis), "  axis");
  EXPECT_EQ(AttributeName().text(), "");
}

TEST(AttributeName, OutlivesTheTextThatItWasMadeOf) {
  std::string text = "scan_input_directions";
  const AttributeName name = text;
  text = "something else altogether";
  EXPECT_EQ(name.text(), "scan_input_directions");
}

TEST(AttributeName, IsKeptOnceHoweverManyThreadsMakeIt) {
  std::vector<AttributeName> made(8);
  {
    std::vector<std::jthread> threads;
    for (AttributeName& name : made) threads.emplace_back([&] { name = std::string("a name of a model"); });
  }
  for (const AttributeName& name : made) EXPECT_EQ(name.text().data(), made[0].text().data());
}

}  // namespace
}  // namespace podium::ir
