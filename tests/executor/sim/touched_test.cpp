#include "executor/sim/touched.h"

#include <gtest/gtest.h>

#include <vector>

namespace podium::sim {
namespace {

std::vector<int> taken(Touched& touched) {
  std::vector<int> places;
  touched.take([&](int place) { places.push_back(place); });
  return places;
}

TEST(Touched, GivesFewAndManyOnceAndInOrderAndIsThenAsNew) {
  Touched touched(100);
  for (int time = 0; time < 2; ++time) {
    for (const int place : {70, 3, 99, 3, 0}) touched.touch(place);
    EXPECT_EQ(taken(touched), (std::vector<int>{0, 3, 70, 99}));
    for (int place = 98; place >= 0; place -= 2) touched.touch(place);
    const std::vector<int> even = taken(touched);
    ASSERT_EQ(even.size(), 50U);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(even[static_cast<std::size_t>(i)], 2 * i);
    EXPECT_TRUE(taken(touched).empty());
  }
}

}  // namespace
}  // namespace podium::sim
