// Which boxes meet another one.
#include "annotate/box_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace podium::annotate {
namespace {

using ::testing::ElementsAre;

TEST(BoxIndex, FindsTheDevicesThatHaveSomethingOfABox) {
  const BoxIndex rows(
      {Box{{{0, 2}}, {{0, 4}}}, Box{{{2, 4}}, {{0, 4}}}, std::nullopt, Box{{{4, 6}}, {{0, 4}}}});
  EXPECT_THAT(rows.meeting({{{1, 3}}, {{0, 1}}}), ElementsAre(0, 1));
  EXPECT_THAT(rows.meeting({{{5, 6}}, {{0, 4}}}), ElementsAre(3));
  EXPECT_THAT(rows.meeting({{}, {{0, 4}}}), ElementsAre());
}

TEST(BoxIndex, AScalarHasOneElement) {
  EXPECT_THAT(BoxIndex({Box{}, std::nullopt, Box{}}).meeting({}), ElementsAre(0, 2));
}

TEST(BoxIndex, FindsWhatComparingWithAllFinds) {
  std::mt19937 random(3);
  const auto below = [&](int end) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
  };
  const auto ranges = [&] {
    Ranges some;
    std::int64_t next = below(8);
    for (std::int64_t count = below(3); count > 0; --count) {
      const std::int64_t begin = next + 1;
      next = begin + 1 + below(4);
      some.push_back({begin, next});
    }
    return some;
  };
  for (int round = 0; round < 500; ++round) {
    Boxes boxes(below(9));
    for (auto& box : boxes) {
      if (below(5) > 0) box = Box{ranges(), ranges()};
    }
    const BoxIndex index(boxes);
    const Box wanted{ranges(), ranges()};
    std::vector<int> expected;
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      if (boxes[device] && meet(*boxes[device], wanted)) expected.push_back(static_cast<int>(device));
    }
    EXPECT_EQ(index.meeting(wanted), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace podium::annotate
