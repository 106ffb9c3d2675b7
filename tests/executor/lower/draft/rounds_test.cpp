// What processors that share a stage compute between two exchanges.
#include "executor/lower/draft/rounds.h"

#include <gmock/gmock.h>

#include "tests/executor/lower/placed.h"

namespace podium::lower {
namespace {

// Each processor squares its part, then adds that of the other one.
const char* const kAddedUp =
    "agraph (float[2] x) => (float[2] a, float[2] b) {"
    "  p = Mul(x, x)  q = Exp(x)  a = Add(p, q)  b = Sub(q, p) }";

std::vector<Part> parts_in_rounds(const std::vector<int>& processors, const std::vector<int>& stages) {
  testing::Placed of = testing::placed(kAddedUp, processors, stages);
  const PlacedGraph placed({.graph = std::move(of.graph)}, std::move(of.placement));
  ir::IdMap<ir::OpId, Turn> turns;
  for (const ir::OpPlacement& place : placed.placement.ops)
    turns.push_back({.stage = place.stage, .processor = place.processor});
  cut_into_rounds(placed, turns);
  return make_parts(placed.graph(), turns);
}

TEST(Rounds, EndWhereProcessorsOfAStageExchange) {
  const std::vector<Part> parts = parts_in_rounds({0, 1, 0, 1}, {0, 0, 0, 0});
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(to_string(parts[1].turn), "ipu 1");
  EXPECT_EQ(to_string(parts[2].turn), "section 1");
  EXPECT_EQ(length_of_round(parts), 2U);
  EXPECT_EQ(length_of_round(std::span(parts).subspan(2)), 2U);
}

// The section of each op where the first processor waits for what the second makes of p.
std::vector<int> sections_of(const char* text, const std::vector<int>& processors) {
  testing::Placed of = testing::placed(text, processors, std::vector<int>(processors.size(), 0));
  const PlacedGraph placed({.graph = std::move(of.graph)}, std::move(of.placement));
  ir::IdMap<ir::OpId, Turn> turns;
  for (const ir::OpPlacement& place : placed.placement.ops) turns.push_back({.processor = place.processor});
  cut_into_rounds(placed, turns);
  std::vector<int> sections;
  for (ir::OpId op : placed.graph().op_ids()) sections.push_back(turns[op].section);
  return sections;
}

TEST(Rounds, ComputeWhereItIsReadWhatIsMadeOfSomethingThatStays) {
  const char* const kTurned =
      "agraph (float[2] x) => (float[2] a) {"
      "  p = Mul(x, x)  t = Neg(p)  u = Abs(t)  q = Exp(p)  s = Add(q, u)  a = Mul(s, p) }";
  EXPECT_EQ(sections_of(kTurned, {0, 0, 0, 1, 0, 0}), (std::vector{0, 2, 2, 1, 2, 2}));
}

TEST(Rounds, ComputeAtOnceWhatIsSmallerThanWhatItIsMadeOf) {
  const char* const kSummed =
      "agraph (float[2] x) => (float[2] a) {"
      "  p = Mul(x, x)  t = ReduceSum(p)  q = Exp(p)  a = Add(q, t) }";
  EXPECT_EQ(sections_of(kSummed, {0, 0, 1, 0}), (std::vector{0, 0, 1, 2}));
}

TEST(Rounds, AreWithinAStage) {
  const std::vector<Part> parts = parts_in_rounds({0, 0, 1, 1}, {0, 0, 1, 1});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(to_string(parts[1].turn), "stage 1, ipu 1");
  EXPECT_EQ(length_of_round(parts), 1U);
}

}  // namespace
}  // namespace podium::lower
