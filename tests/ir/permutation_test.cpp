#include "ir/permutation.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

using Axes = std::vector<std::int64_t>;

TEST(Permutation, BringsWhatBelongsToAxesIntoAnotherOrder) {
  EXPECT_EQ(permuted({5, 6, 7}, {2, 0, 1}), (Axes{7, 5, 6}));
  EXPECT_EQ(permuted({}, {}), Axes{});
}

TEST(Permutation, IsUndoneByItsInverse) {
  const Axes order{2, 0, 3, 1};
  EXPECT_EQ(inverse_order(order), (Axes{1, 3, 0, 2}));
  EXPECT_EQ(permuted(order, inverse_order(order)), (Axes{0, 1, 2, 3}));
}

}  // namespace
}  // namespace podium::ir
