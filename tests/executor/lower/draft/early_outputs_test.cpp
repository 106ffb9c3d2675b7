#include "executor/lower/draft/early_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

std::vector<std::string> first_outputs(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Op& op : graph.ops) names.push_back(graph[op.outputs[0]].name);
  return names;
}

// What is added up follows what it reads, one sum the other; what draws numbers keeps its turn.
TEST(EarlyOutputs, FollowWhatTheyRead) {
  ir::Graph graph = testing::graph_of(R"(g (float[2] x, float[2] s)
      => (float[2] y, float[2] sum, float[2] twice, float[2] drawn) {
    a = Relu (x)
    b = Tanh (x)
    y = Neg (b)
    sum = Add (s, a)
    twice = Add (sum, a)
    drawn = RandomUniformLike (x)
  })");
  make_outputs_early(graph);
  EXPECT_THAT(first_outputs(graph), ::testing::ElementsAre("a", "sum", "twice", "b", "y", "drawn"));
}

}  // namespace
}  // namespace podium::lower
