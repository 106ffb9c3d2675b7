#include "executor/same_code.h"

#include <gtest/gtest.h>

#include "ir/annotation.h"
#include "tests/support/graph_text.h"

namespace podium::executor {
namespace {

ir::Graph block_of(const std::string& output, const std::string& op) {
  return testing::graph_of("g (float[2, 4] x) => (float[2, 4] " + output + ") { " + output + " = " + op +
                           " }");
}

TEST(SameCode, IsThatOfGraphsWithOtherNamesAndPlaces) {
  const ir::Graph first = block_of("y", "Softmax<axis = 1>(x)");
  ir::Graph second = block_of("z", "Softmax<axis = 1>(x)");
  ir::set_attribute(second.ops[0], ir::kVirtualGraph, std::int64_t{3});
  EXPECT_TRUE(same_code(first, second));
  EXPECT_EQ(hash_of_code(first), hash_of_code(second));
}

TEST(SameCode, IsNotThatOfOtherOpsAttributesSizesOrConstants) {
  const ir::Graph first = block_of("y", "Softmax<axis = 1>(x)");
  EXPECT_FALSE(same_code(first, block_of("y", "LogSoftmax<axis = 1>(x)")));
  EXPECT_FALSE(same_code(first, block_of("y", "Softmax<axis = 0>(x)")));
  EXPECT_FALSE(same_code(
      first, testing::graph_of("g (float[2, 5] x) => (float[2, 5] y) { y = Softmax<axis = 1>(x) }")));
  const auto adds = [](float number) {
    ir::Graph graph = block_of("y", "Add(x, x)");
    graph.ops[0].inputs[1] = graph.add_constant("c", ir::Tensor::scalar(number));
    return graph;
  };
  EXPECT_TRUE(same_code(adds(1), adds(1)));
  EXPECT_FALSE(same_code(adds(1), adds(2)));
}

}  // namespace
}  // namespace podium::executor
