#include "executor/session/random_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace podium {
namespace {

std::vector<std::int64_t> drawn(const IdCounts& ids) {
  const ir::Type type = ir::Type::tensor(ir::DataType::Int64, {1000});
  const ir::Datum made = random_input("ids", type, ids, 5);
  const auto values = made.tensor.values<std::int64_t>();
  return {values.begin(), values.end()};
}

TEST(RandomInput, DrawsAllThatAreIdsAndElseZerosAndOnes) {
  const auto [least, most] = std::ranges::minmax(drawn({{"ids", 50}}));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 49);
  EXPECT_EQ(std::ranges::max(drawn({})), 1);
  EXPECT_EQ(std::ranges::max(drawn({{"ids", 1}})), 0);
  EXPECT_EQ(drawn({{"ids", 50}}), drawn({{"ids", 50}}));
}

}  // namespace
}  // namespace podium
