#include "ir/passes/number_random_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/random_draws.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;

const char* const kThree = R"(g (float[2] x, bool c) => (float[2] y, float[2] z) {
  a = RandomNormalLike (x)
  b = RandomNormalLike <seed = 1.0> (x)
  y = Add (a, b)
  z = If (c) <then_branch = p () => (float[2] u) { u = RandomUniformLike (x) },
              else_branch = q () => (float[2] v) { v = Identity (x) }>
})";

std::vector<std::optional<std::int64_t>> streams_of(const Graph& graph) {
  std::vector<std::optional<std::int64_t>> streams;
  for (const Op& op : graph.ops) {
    if (op.spec->random) streams.push_back(draws_of(op).stream);
    for_each_body(op, [&](std::string_view, const Graph& body) {
      for (const std::optional<std::int64_t>& one : streams_of(body)) streams.push_back(one);
    });
  }
  return streams;
}

TEST(NumberRandomOps, GivesEachOpAStreamInItsPlace) {
  Graph graph = graph_of(kThree);
  EXPECT_TRUE(number_random_ops(graph, Seeded::ForEachMoment));
  EXPECT_THAT(streams_of(graph), ::testing::ElementsAre(0, 1, 2));
  EXPECT_FALSE(number_random_ops(graph, Seeded::ForEachMoment));
}

TEST(NumberRandomOps, LeavesASeedItsMeaningOutsideOfTraining) {
  Graph graph = graph_of(kThree);
  EXPECT_TRUE(number_random_ops(graph, Seeded::AsOnnxDoes));
  EXPECT_THAT(streams_of(graph), ::testing::ElementsAre(0, std::nullopt, 2));
}

}  // namespace
}  // namespace podium::ir
