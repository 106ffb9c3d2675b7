#include "executor/numeric/fuse_loss_gradient.h"

#include <gtest/gtest.h>

#include "executor/kernels/tools/kernel.h"
#include "ir/gradients/differentiate.h"
#include "ir/passes/optimize.h"
#include "tests/support/fusing.h"
#include "tests/support/graph_text.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::ops_of;

// The gradient of the loss by the scores, x, as its only output.
ir::Graph gradient_of(const std::string& text) {
  ir::Graph graph = testing::graph_of(text);
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(graph, options);
  const std::vector<ValueId> xs{graph.inputs[0]};
  graph.outputs = ir::differentiate(graph, graph.outputs[0], xs);
  ir::optimize(graph, options);
  return graph;
}

std::string loss(const std::string& attributes, const std::string& more = "") {
  return "g (float[6,40] x, int64[6] t" + std::string(more.empty() ? "" : ", float[40] w") +
         ") => (y) { y = SoftmaxCrossEntropyLoss" + attributes + " (x, t" + more + ") }";
}

// Of labels two of which some losses ignore.
void expect_same_numbers(const ir::Graph& graph) {
  std::vector<ir::Datum> inputs;
  for (ValueId id : graph.inputs) {
    if (graph[id].type.element == ir::DataType::Int64) {
      inputs.emplace_back(ir::Tensor::ints({3, 1, 39, 0, 17, 1}));
    } else {
      inputs.emplace_back(testing::random_floats(graph[id].type.dims, 7));
    }
  }
  const ir::Tensor expected = testing::run_graph(graph, false, inputs)[0];
  const ir::Tensor found = testing::run_graph(graph, true, inputs)[0];
  ASSERT_EQ(found.dims(), expected.dims());
  for (std::int64_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found.data<float>()[i], expected.data<float>()[i], 1e-6) << i;
}

TEST(FuseLossGradient, MakesOneOpOfThatOfEveryReduction) {
  for (const std::string& text : {loss(""), loss(" <reduction = \"sum\">"), loss(" <ignore_index = 1>"),
                                  loss("", ", w"), loss(" <reduction = \"sum\", ignore_index = 0>", ", w")}) {
    ir::Graph graph = gradient_of(text);
    EXPECT_TRUE(fuse_loss_gradient(graph)) << print(graph);
    const std::string ops = ops_of(graph);
    EXPECT_NE(ops.find("= podium.CrossEntropyGradient(x, "), std::string::npos) << ops;
    EXPECT_EQ(ops.find("Softmax("), std::string::npos) << ops;
    expect_same_numbers(gradient_of(text));
  }
}

TEST(FuseLossGradient, LeavesWhatIsNotTheGradientOfALoss) {
  const auto expect_left = [](const std::string& text) {
    ir::Graph graph = testing::graph_of(text);
    EXPECT_FALSE(fuse_loss_gradient(graph)) << ops_of(graph);
  };
  const auto gradient = [](const std::string& softmax, const std::string& numbers, const std::string& zero,
                           const std::string& outputs) {
    return "g (float[2,3] x, int64[2,1] t, float[2,1] f, float[2,1] other) => (" + outputs +
           ") <int64[1,3] n = {" + numbers + "}, float zero = {" + zero +
           "}> { e = Equal(t, n) a = Where(e, f, zero)"
           " s = Softmax" +
           softmax + "(x) b = Mul(s, f) y = Sub(a, b) }";
  };
  ir::Graph fits = testing::graph_of(gradient("", "0, 1, 2", "0", "y"));
  EXPECT_TRUE(fuse_loss_gradient(fits));
  expect_left(gradient(" <axis = 0>", "0, 1, 2", "0", "y"));
  expect_left(gradient("", "0, 2, 1", "0", "y"));
  expect_left(gradient("", "0, 1, 2", "1", "y"));
  expect_left(gradient("", "0, 1, 2", "0", "y, s"));
}

}  // namespace
}  // namespace podium::numeric
