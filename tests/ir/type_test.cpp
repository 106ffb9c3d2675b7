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

TEST(PackedBytes, CountsPackedElements) {
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Int4, {5})), 3);
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Float16, {5})), 10);
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Float6E2M3, {3, 3})), 7);
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Double, {})), 8);
}

TEST(PackedBytes, AreNoneOfStringsAndOfWhatOnlyARunTells) {
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::String, {4})), 0);
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Float, {4, kUnknown})), 0);
  EXPECT_EQ(packed_bytes(Type::tensor(DataType::Float)), 0);
  EXPECT_EQ(packed_bytes(Type::sequence(Type::tensor(DataType::Float, {4}))), 0);
}

TEST(PackedBytes, RefusesMoreThan63BitsCount) {
  const std::int64_t most = std::int64_t{1} << 62;
  EXPECT_EQ(packed_bytes(DataType::Bool, most), most);
  EXPECT_THROW(packed_bytes(DataType::Complex128, most), Error);
}

}  // namespace
}  // namespace podium::ir
