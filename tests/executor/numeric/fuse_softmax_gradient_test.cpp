#include "executor/numeric/fuse_softmax_gradient.h"

#include <gtest/gtest.h>

#include "executor/kernels/tools/kernel.h"
#include "ir/gradients/differentiate.h"
#include "ir/passes/optimize.h"
#include "tests/support/fusing.h"
#include "tests/support/graph_text.h"

namespace podium::numeric {
namespace {

using testing::ops_of;

// The gradient of a product with the Softmax of x, by x.
ir::Graph gradient_of(const std::string& dims, const std::string& softmax) {
  ir::Graph graph = testing::graph_of("g (float" + dims + " x, float" + dims + " w) => (z) { y = " + softmax +
                                      " (x) z = Mul(y, w) }");
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(graph, options);
  const std::vector<ir::ValueId> xs{graph.inputs[0]};
  graph.outputs = ir::differentiate(graph, graph.outputs[0], xs);
  ir::optimize(graph, options);
  return graph;
}

TEST(FuseSoftmaxGradient, MakesOneOpOfThatOfRows) {
  for (const auto& [dims, softmax] :
       std::vector<std::pair<std::string, std::string>>{{"[5,7]", "Softmax"},
                                                        {"[2,3,40,33]", "Softmax"},
                                                        {"[4,6,8]", "Softmax <axis = 2>"},
                                                        {"[9]", "Softmax"}}) {
    ir::Graph graph = gradient_of(dims, softmax);
    EXPECT_TRUE(fuse_softmax_gradient(graph)) << ops_of(graph);
    const std::string ops = ops_of(graph);
    EXPECT_NE(ops.find("= podium.SoftmaxGradient("), std::string::npos) << ops;
    EXPECT_EQ(ops.find("ReduceSum"), std::string::npos) << ops;
    testing::expect_same_when_fused(gradient_of(dims, softmax));
  }
}

TEST(FuseSoftmaxGradient, LeavesThoseAlongOtherAxes) {
  ir::Graph graph = gradient_of("[4,6,8]", "Softmax <axis = 1>");
  EXPECT_FALSE(fuse_softmax_gradient(graph)) << ops_of(graph);
}

TEST(FuseSoftmaxGradient, LeavesSumsThatOthersRead) {
  const auto graph_with = [](const std::string& outputs) {
    return testing::graph_of("g (float[4,6] y, float[4,6] f) => (" + outputs +
                             ") <int64[1] last = {1}> { p = Mul(f, y) s = ReduceSum(p, last) d = Sub(f, s)"
                             " x = Mul(y, d) }");
  };
  ir::Graph alone = graph_with("x");
  EXPECT_TRUE(fuse_softmax_gradient(alone));
  for (const char* outputs : {"x, s", "x, p", "x, d"}) {
    ir::Graph read = graph_with(outputs);
    EXPECT_FALSE(fuse_softmax_gradient(read)) << outputs;
  }
}

}  // namespace
}  // namespace podium::numeric
