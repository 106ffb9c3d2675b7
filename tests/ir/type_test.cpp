#include "ir/type.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace podium::ir {
namespace {

TEST(Broadcast, StretchesOnesFromTheRight) { EXPECT_EQ(broadcast({2, 1}, {3}), (Dims{2, 3})); }

TEST(Broadcast, KeepsANumberBesideAnUnknown) {
  EXPECT_EQ(broadcast({kUnknown, 4}, {1, 4}), (Dims{kUnknown, 4}));
}

TEST(Broadcast, RefusesTwoNumbersThatDiffer) { EXPECT_THROW(broadcast({2, 3}, {4}), Error); }

}  // namespace
}  // namespace podium::ir
