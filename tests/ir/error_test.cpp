#include "ir/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Error, SaysItsPlacesInFront) {
  const Error error = Error("{} found, {} needed", 2, 3).at("node 'x'").at("m.onnx");
  EXPECT_STREQ(error.what(), "m.onnx: node 'x': 2 found, 3 needed");
  EXPECT_THAT(error.places(), ElementsAre("node 'x'", "m.onnx"));
}

TEST(Error, IsAtThePlaceInFrontOnly) {
  const Error error = Error("m.onnx: text that begins like a place");
  EXPECT_THAT(error.places(), IsEmpty());
  EXPECT_FALSE(error.is_at("m.onnx"));
  EXPECT_TRUE(error.at("m.onnx").is_at("m.onnx"));
  EXPECT_FALSE(error.at("m.onnx").at("here").is_at("m.onnx"));
}

}  // namespace
}  // namespace podium
