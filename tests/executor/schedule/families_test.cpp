// The worked orders of four processors and eight micro-batches: capital letters are the first chunk, or the
// first copy of the model, small letters the second.
#include "executor/schedule/families.h"

#include <gmock/gmock.h>

#include "executor/schedule/validate.h"
#include "ir/error.h"

namespace podium::schedule {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> written_out(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const std::vector<Action>& order : schedule.orders) {
    std::string& line = lines.emplace_back();
    for (const Action& action : order) {
      const bool is_first = action.chunk < schedule.layout.processors;
      const char letter = (is_first ? "FIWB" : "fiwb")[static_cast<int>(action.pass)];
      line += fmt::format("{}{}{}", line.empty() ? "" : " ", letter, action.micro_batch);
    }
  }
  return lines;
}

std::vector<std::string> worked(std::string_view name, int chunks) {
  return written_out(make_schedule(*find_family(name), {4, 8, chunks}));
}

std::string why_not(std::string_view name, const Request& request) {
  try {
    make_schedule(*find_family(name), request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Families, OneForwardOneBackwardTakesTurns) {
  EXPECT_THAT(worked("1f1b", 1), ElementsAre("F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
                                             "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
                                             "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
                                             "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"));
}

TEST(Families, InterleavedTakesTurnsOverChunks) {
  EXPECT_THAT(
      worked("interleaved", 2),
      ElementsAre(
          "F0 F1 F2 F3 f0 f1 f2 f3 F4 F5 F6 b0 F7 b1 f4 b2 f5 b3 f6 B0 f7 B1 B2 B3 b4 b5 b6 b7 B4 B5 B6 B7",
          "F0 F1 F2 F3 f0 f1 f2 f3 F4 b0 F5 b1 F6 b2 F7 b3 f4 B0 f5 B1 f6 B2 f7 B3 b4 b5 b6 b7 B4 B5 B6 B7",
          "F0 F1 F2 F3 f0 f1 f2 b0 f3 b1 F4 b2 F5 b3 F6 B0 F7 B1 f4 B2 f5 B3 f6 b4 f7 b5 b6 b7 B4 B5 B6 B7",
          "F0 F1 F2 F3 f0 b0 f1 b1 f2 b2 f3 b3 F4 B0 F5 B1 F6 B2 F7 B3 f4 b4 f5 b5 f6 b6 f7 b7 B4 B5 B6 B7"));
}

TEST(Families, ZeroBubbleH1FillsWhatIsIdle) {
  EXPECT_THAT(worked("zb-h1", 1),
              ElementsAre("F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7",
                          "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7",
                          "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7",
                          "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7"));
}

TEST(Families, ZeroBubbleH2IsAheadAsFarAsLockstep) {
  EXPECT_THAT(worked("zb-h2", 1),
              ElementsAre("F0 F1 F2 F3 F4 F5 F6 I0 W0 F7 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7",
                          "F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 W0 F7 I3 W1 I4 W2 I5 W3 I6 W4 I7 W5 W6 W7",
                          "F0 F1 F2 I0 F3 I1 F4 I2 F5 I3 F6 I4 W0 F7 I5 W1 I6 W2 I7 W3 W4 W5 W6 W7",
                          "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 F7 I7 W1 W2 W3 W4 W5 W6 W7"));
}

TEST(Families, ZeroBubbleVTurnsAtTheLastProcessor) {
  EXPECT_THAT(
      worked("zb-v", 2),
      ElementsAre(
          "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 i3 w3 F7 I0 W0 f4 i4 w4 I1 W1 f5 i5 w5 I2 W2 f6 i6 w6 I3 W3 f7 i7 w7 I4 W4 I5 W5 I6 W6 I7 W7",
          "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 i2 w2 F6 I0 W0 f4 i3 w3 F7 I1 W1 f5 i4 w4 I2 W2 f6 i5 w5 I3 W3 f7 i6 w6 I4 i7 I5 W4 I6 W5 I7 W6 w7 W7",
          "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 i1 w1 F5 I0 W0 f4 i2 w2 F6 I1 W1 f5 i3 w3 F7 I2 W2 f6 i4 w4 I3 W3 f7 i5 w5 I4 i6 I5 i7 I6 W4 I7 W5 w6 w7 W6 W7",
          "F0 f0 F1 f1 F2 f2 F3 f3 i0 w0 F4 I0 W0 f4 i1 w1 F5 I1 W1 f5 i2 w2 F6 I2 W2 f6 i3 w3 F7 I3 W3 f7 i4 w4 I4 i5 I5 i6 I6 i7 I7 W4 w5 w6 w7 W5 W6 W7"));
}

TEST(Families, DualPipeComesFromBothEnds) {
  EXPECT_THAT(worked("dualpipe", 1), ElementsAre("F0 F1 F2 f0 i0 w0 f1 F3 b1 f2 B0 b2 f3 B1 b3 I2 W2 I3 W3",
                                                 "F0 f0 F1 f1 F2 b0 f2 B0 F3 b1 f3 B1 b2 B2 i3 I3 w3 W3",
                                                 "f0 F0 f1 F1 f2 B0 F2 b0 f3 B1 F3 b1 B2 b2 I3 i3 W3 w3",
                                                 "f0 f1 f2 F0 I0 W0 F1 f3 B1 F2 b0 B2 F3 b1 B3 i2 w2 i3 w3"));
}

TEST(Families, DualPipeVFoldsBothEnds) {
  EXPECT_THAT(
      worked("dualpipe-v", 2),
      ElementsAre(
          "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 F7 b3 f4 B0 b4 f5 B1 b5 f6 B2 b6 f7 B3 b7 I4 W4 I5 W5 I6 W6 I7 W7",
          "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 F6 b2 f4 B0 F7 b3 f5 B1 b4 f6 B2 b5 f7 B3 b6 B4 i7 I5 w7 I6 W5 I7 W6 W7",
          "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 F5 b1 f4 B0 F6 b2 f5 B1 F7 b3 f6 B2 b4 f7 B3 b5 B4 b6 I5 i7 I6 W5 I7 w7 W6 W7",
          "F0 f0 F1 f1 F2 f2 F3 f3 F4 b0 f4 B0 F5 b1 f5 B1 F6 b2 f6 B2 F7 b3 f7 B3 b4 B4 b5 B5 i6 I6 i7 I7 w6 W6 w7 W7"));
}

TEST(Families, VHalfRepeatsABlockOfSixSlots) {
  const std::vector<std::string> orders = worked("v-half", 2);
  EXPECT_EQ(
      orders[0],
      "F0 F1 f0 F2 i0 w0 f1 F3 i1 w1 f2 F4 I0 i2 W0 f3 w2 F5 I1 i3 W1 f4 w3 F6 I2 i4 W2 f5 w4 F7 I3 i5 W3 f6 w5 I4 i6 W4 f7 w6 I5 i7 W5 w7 I6 W6 I7 W7");
  EXPECT_EQ(
      orders[3],
      "F0 f0 F1 f1 F2 f2 i0 w0 I0 W0 F3 f3 i1 w1 I1 W1 F4 f4 i2 w2 I2 W2 F5 f5 i3 w3 I3 W3 F6 f6 i4 w4 I4 W4 F7 f7 i5 w5 I5 W5 i6 w6 I6 W6 i7 w7 I7 W7");
}

TEST(Families, VMinRepeatsABlockOfSixSlots) {
  const std::vector<std::string> orders = worked("v-min", 2);
  EXPECT_EQ(
      orders[0],
      "F0 F1 f0 i0 w0 F2 f1 i1 I0 w1 W0 F3 f2 i2 I1 w2 W1 F4 f3 i3 I2 w3 W2 F5 f4 i4 I3 w4 W3 F6 f5 i5 I4 w5 W4 F7 f6 i6 I5 w6 W5 f7 i7 I6 w7 W6 I7 W7");
  EXPECT_EQ(
      orders[3],
      "F0 f0 F1 f1 i0 I0 w0 W0 F2 f2 i1 I1 w1 W1 F3 f3 i2 I2 w2 W2 F4 f4 i3 I3 w3 W3 F5 f5 i4 I4 w4 W4 F6 f6 i5 I5 w5 W5 F7 f7 i6 I6 w6 W6 i7 I7 w7 W7");
}

TEST(Families, ChimeraFitsTheTwoWaysIntoEachOther) {
  const std::vector<std::string> orders = worked("chimera", 1);
  EXPECT_EQ(orders[0], "F0 F1 f0 b0 f1 b1 B0 F2 B1 F3 f2 b2 f3 b3 B2 B3");
  EXPECT_EQ(orders[1], "F0 f0 F1 f1 b0 B0 b1 B1 F2 f2 F3 f3 b2 B2 b3 B3");
}

TEST(Families, GPipeAndBreadthFirstGoThereBeforeTheyComeBack) {
  EXPECT_EQ(written_out(make_schedule(*find_family("gpipe"), {2, 3, 1}))[1], "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(written_out(make_schedule(*find_family("breadth-first"), {2, 2, 2}))[1],
            "F0 F1 f0 f1 b0 b1 B0 B1");
}

// Every family, whatever is asked of it, either says why not or can run.
TEST(Families, WhatIsLegalCanRun) {
  int legal = 0;
  for (const Family& family : families()) {
    for (int p : {1, 2, 3, 4, 8}) {
      for (int chunks : {1, 2, 3, 4}) {
        for (int m = 1; m <= 2 * p + 2; ++m) {
          const Request request{p, m <= 2 * p + 1 ? m : 4 * p, chunks};
          if (!family.why_not(request).empty()) continue;
          ++legal;
          EXPECT_NO_THROW(validate(make_schedule(family, request)))
              << family.name << " " << p << " " << request.micro_batches << " " << chunks;
        }
      }
    }
  }
  EXPECT_GT(legal, 600);
}

TEST(Families, SayWhatTheyNeed) {
  EXPECT_EQ(why_not("zb-v", {4, 8, 3}),
            "pipeline schedule zb-v: 3 chunks on a processor found, 2 are needed");
  EXPECT_EQ(why_not("1f1b", {4, 8, 2}), "pipeline schedule 1f1b: 2 chunks on a processor found, 1 is needed");
  EXPECT_EQ(
      why_not("dualpipe", {3, 8, 1}),
      "pipeline schedule dualpipe: 3 processors found, an even number is needed: micro-batches come from "
      "both ends");
  EXPECT_EQ(
      why_not("dualpipe", {4, 7, 1}),
      "pipeline schedule dualpipe: 7 micro-batches found, an even number of at least 8 is needed: twice "
      "the processors");
  EXPECT_EQ(
      why_not("dualpipe-v", {4, 7, 2}),
      "pipeline schedule dualpipe-v: 7 micro-batches found, at least 8 are needed: twice the processors");
  EXPECT_EQ(why_not("chimera", {4, 6, 1}),
            "pipeline schedule chimera: 6 micro-batches found, a multiple of 4 is needed: the processors");
  EXPECT_EQ(why_not("interleaved", {4, 9, 2}),
            "pipeline schedule interleaved: 9 micro-batches found, a multiple of 2 is needed: they go in so "
            "many groups");
}

}  // namespace
}  // namespace podium::schedule
