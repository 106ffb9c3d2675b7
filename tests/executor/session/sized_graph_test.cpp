#include "executor/session/sized_graph.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium {
namespace {

TEST(SizedGraph, SaysOfEachOpThatIsLeftWhereItWas) {
  const ir::Graph graph = testing::graph_of(
      "g (float[2,6] x) => (float[3,4] y) <int64[2] half = {3, 2}, int64[2] twice = {1, 2}> {"
      " r = Relu(x)\n dims = Mul(half, twice)\n y = Reshape(r, dims) }");
  const SizedGraph sized = infer_sizes(graph);
  ASSERT_EQ(sized.graph.ops.size(), 2U);
  EXPECT_EQ(sized.imported, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(sized.graph[sized.graph.ops[1].outputs[0]].type.dims, (ir::Dims{3, 4}));
  EXPECT_EQ(graph.ops.size(), 3U);
}

}  // namespace
}  // namespace podium
