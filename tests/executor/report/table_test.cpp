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

TEST(Fold, CutsNamesShortBeforeTheLastColumnsGo) {
  const std::vector<std::vector<std::string>> rows{{"name", "much", "some"},
                                                   {"pipelined over 4, 2 replicas", "1", "3"}};
  EXPECT_THAT(fold(rows, {0, 9, 5}, 32), ElementsAre(ElementsAre("name", "much", "some"),
                                                     ElementsAre("pipelined over 4,...", "1", "3")));
  EXPECT_THAT(fold(rows, {0, 9, 5}, 24),
              ElementsAre(ElementsAre("name", "much"), ElementsAre("pipelined ove...", "1")));
}

TEST(Wrap, BreaksTheLastColumnAtBlanks) {
  const std::vector<std::vector<std::string>> rows{{"ops", "4 Add, 1 Conv, 2 Gemm, 1 Relu"},
                                                   {"work", "12 FLOP"}};
  EXPECT_EQ(wrap(rows, 0), rows);
  EXPECT_EQ(wrap(rows, 35), rows);
  EXPECT_EQ(table(wrap(rows, 28)),
            "ops   4 Add, 1 Conv, 2 Gemm,\n"
            "      1 Relu\n"
            "work  12 FLOP\n");
  EXPECT_EQ(wrap(rows, 20), rows) << "nobody could read what is left";
}

TEST(Count, HasItsThousandsApart) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(1340), "1,340");
  EXPECT_EQ(count(-1234567), "-1,234,567");
}

TEST(Percentage, OfAlmostNothingIsNoRowOfZeros) {
  EXPECT_EQ(percentage(0), "0.0%");
  EXPECT_EQ(percentage(1.7e-9), "<0.0001%");
  EXPECT_EQ(percentage(0.0034), "0.34%");
  EXPECT_EQ(percentage(0.875), "87.5%");
}

TEST(Duration, HasAUnitInWhichItIsNotZero) {
  EXPECT_EQ(duration(0), "0.0 us");
  EXPECT_EQ(duration(3.3e-8), "33.0 ns");
  EXPECT_EQ(duration(4.53e-7), "0.5 us");
  EXPECT_EQ(duration(0.0012), "1.20 ms");
}

}  // namespace
}  // namespace podium::report
