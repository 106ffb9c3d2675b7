#include "ir/datum.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace podium::ir {
namespace {

Datum number(std::int64_t value) { return Tensor::scalar(value); }

std::vector<double> numbers(const Items& items) {
  std::vector<double> result;
  for (const Datum& item : items) result.push_back(item.tensor.to_number());
  return result;
}

using Numbers = std::vector<double>;

TEST(Items, GrowAtTheirEnd) {
  Items items({});
  EXPECT_TRUE(items.empty());
  for (int i = 0; i < 100; ++i) items = items.with_last(number(i));
  ASSERT_EQ(items.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(items[i].tensor.to_number(), i);
}

TEST(Items, StayWhatTheyAreWhenOthersGrowFromThem) {
  const Items first(std::vector<Datum>{number(1), number(2)});
  const Items second = first.with_last(number(3));
  const Items other = first.with_last(number(4));
  EXPECT_EQ(numbers(first), (Numbers{1, 2}));
  EXPECT_EQ(numbers(second), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(other), (Numbers{1, 2, 4}));
  EXPECT_EQ(numbers(other.with_last(number(5))), (Numbers{1, 2, 4, 5}));
}

TEST(Items, ThatAreNotThereAreAFault) {
  const Items shorter(std::vector<Datum>{number(1)});
  const Items longer = shorter.with_last(number(2));
  EXPECT_THROW(shorter[1], InternalError);
  EXPECT_THROW(Items({}).front(), InternalError);
}

}  // namespace
}  // namespace podium::ir
