#include "executor/uses.h"

#include <gtest/gtest.h>

namespace podium::executor {
namespace {

Slot slot(int buffer) { return {BufferId{buffer}}; }
Step copy(int from, int to) { return {CopyBetweenProcessors{.transfers = {{slot(from), slot(to)}}}}; }

TEST(Uses, ATransferComesBehindWhatMakesItsSourceAndWhatUsesItsTarget) {
  Uses uses;
  uses.note(copy(0, 1), 1);
  uses.note(copy(2, 3), 2);
  uses.note(copy(4, 5), 3);
  EXPECT_EQ(uses.earliest({slot(6), slot(7)}), 0U);
  EXPECT_EQ(uses.earliest({slot(0), slot(7)}), 0U);  // what has been read alone
  EXPECT_EQ(uses.earliest({slot(1), slot(7)}), 1U);
  EXPECT_EQ(uses.earliest({slot(1), slot(2)}), 2U);
  EXPECT_EQ(uses.earliest({slot(5), slot(1)}), 3U);
}

TEST(Uses, SeeWhatIsRepeated) {
  Uses uses;
  uses.note({Repeat{3, {copy(0, 1)}}}, 1);
  EXPECT_EQ(uses.earliest({slot(1), slot(2)}), 1U);
}

TEST(Uses, KeepTheLastOne) {
  Uses uses;
  uses.note(copy(0, 1), 4);
  uses.note(Transfer{slot(2), slot(1)}, 2);
  EXPECT_EQ(uses.earliest({slot(1), slot(3)}), 4U);
}

}  // namespace
}  // namespace podium::executor
