#include "executor/report/table.h"

#include <gmock/gmock.h>

namespace podium::report {
namespace {

using ::testing::ElementsAre;

TEST(Rate, HasItsThousandsApart) {
  EXPECT_EQ(rate(0), "0.0");
  EXPECT_EQ(rate(999.94), "999.9");
  EXPECT_EQ(rate(1340.2), "1,340.2");
  EXPECT_EQ(rate(-1234567.8), "-1,234,567.8");
}

TEST(Fold, KeepsEverythingWhereThereIsRoom) {
  const std::vector<std::vector<std::string>> rows{{"a", "b"}, {"1", "2"}};
  EXPECT_EQ(fold(rows, {1, 2}, 0), rows);
  EXPECT_EQ(fold(rows, {1, 2}, 4), rows);
}

TEST(Fold, TakesTheLeastImportantColumnsAwayButNotTheFirst) {
  const std::vector<std::vector<std::string>> rows{{"name", "much", "little", "some"}, {"x", "1", "2", "3"}};
  EXPECT_THAT(fold(rows, {0, 9, 1, 5}, 16),
              ElementsAre(ElementsAre("name", "much", "some"), ElementsAre("x", "1", "3")));
  EXPECT_THAT(fold(rows, {0, 9, 1, 5}, 10), ElementsAre(ElementsAre("name", "much"), ElementsAre("x", "1")));
  EXPECT_THAT(fold(rows, {0, 9, 1, 5}, 1), ElementsAre(ElementsAre("name"), ElementsAre("x")));
}

}  // namespace
}  // namespace podium::report
