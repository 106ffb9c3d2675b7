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

TEST(Rounds, AreWithinAStage) {
  const std::vector<Part> parts = parts_in_rounds({0, 0, 1, 1}, {0, 0, 1, 1});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(to_string(parts[1].turn), "stage 1, ipu 1");
  EXPECT_EQ(length_of_round(parts), 1U);
}

}  // namespace
}  // namespace podium::lower
