#include "ir/disjoint_sets.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

TEST(DisjointSets, AreNamedByTheirLowestItem) {
  DisjointSets sets(5);
  sets.join(4, 3);
  sets.join(1, 4);
  EXPECT_EQ(sets.find(4), 1U);
  EXPECT_EQ(sets.find(3), 1U);
  sets.join(3, 0);
  EXPECT_EQ(sets.find(1), 0U);
  EXPECT_EQ(sets.find(2), 2U);
}

}  // namespace
}  // namespace podium::ir
