#include "executor/numeric/window.h"

#include <gtest/gtest.h>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::IntList;

ir::Op convolution(std::vector<ir::Attribute> attributes) {
  return make_op("Conv", "", {{0}, {1}}, {{2}}, std::move(attributes));
}

TEST(WindowOf, FillsInWhatIsLeftOut) {
  const Window window = window_of(convolution({}), {3, 2}, {1, 4, 9, 8}, {1, 5, 7, 7});
  EXPECT_EQ(window.strides, (Dims{1, 1}));
  EXPECT_EQ(window.dilations, (Dims{1, 1}));
  EXPECT_EQ(window.pads, (Dims{0, 0, 0, 0}));
}

TEST(WindowOf, SharesThePaddingOfSame) {
  const std::vector<ir::Attribute> strides{{"strides", IntList{2}}};
  auto upper = strides;
  upper.push_back({"auto_pad", std::string("SAME_UPPER")});
  auto lower = strides;
  lower.push_back({"auto_pad", std::string("SAME_LOWER")});
  EXPECT_EQ(window_of(convolution(upper), {4}, {1, 1, 7}, {1, 1, 4}).pads, (Dims{1, 2}));
  EXPECT_EQ(window_of(convolution(lower), {4}, {1, 1, 7}, {1, 1, 4}).pads, (Dims{2, 1}));
}

TEST(WindowOf, NeedsNoNegativePaddingForSame) {
  const Window window =
      window_of(convolution({{"strides", IntList{3}}, {"auto_pad", std::string("SAME_UPPER")}}), {1},
                {1, 1, 9}, {1, 1, 3});
  EXPECT_EQ(window.pads, (Dims{0, 0}));
}

TEST(WindowOf, ReachesTheEndOfAWindowThatRoundingUpAdded) {
  const Window window =
      window_of(convolution({{"strides", IntList{2}}, {"pads", IntList{0, 0}}}), {3}, {1, 1, 6}, {1, 1, 3});
  EXPECT_EQ(window.pads, (Dims{0, 1}));
}

TEST(WindowOf, CountsDilations) {
  const Window window =
      window_of(convolution({{"dilations", IntList{3}}, {"auto_pad", std::string("SAME_UPPER")}}), {3},
                {1, 1, 5}, {1, 1, 5});
  EXPECT_EQ(window.pads, (Dims{3, 3}));
}

}  // namespace
}  // namespace podium::numeric
