#include "annotate/product_graph.h"

#include <gtest/gtest.h>

#include "tests/support/graph_with_weights.h"

namespace podium::annotate {
namespace {

using testing::graph_with_weights;

ir::ValueId named(const ir::Graph& graph, std::string_view name) {
  for (ir::ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  return {};
}

TEST(ProductGraph, FindsProductsWithWeightsAndWhatIsMadeOfWeights) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,4] x) => (float[2,2] y) <float[4,3] w, float[2,3] v> {"
      " n = Neg(w)\n a = MatMul(x, n)\n b = Gemm <transB = 1> (a, v)\n y = MatMul(b, b) }");
  const ProductGraph products(graph);
  ASSERT_EQ(products.products().size(), 2U);
  EXPECT_TRUE(products.is_weight(named(graph, "n")));
  EXPECT_FALSE(products.is_weight(named(graph, "a")));
  EXPECT_EQ(products.products()[0].columns, 3);
  EXPECT_EQ(products.products()[1].columns_axis, 0);
  EXPECT_EQ(products.find(products.producer(named(graph, "y"))), nullptr) << "it has no weight";
}

TEST(ProductGraph, WalksBackToProductsThroughWhatMayLieBetween) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,4] x) => (float[2,3] y) <float[4,6] w> {"
      " a = MatMul(x, w)\n b, c = Split <axis = 1, num_outputs = 2> (a)\n d = Mul(b, c)\n"
      " e = Softmax(d)\n y = Neg(e) }");
  const ProductGraph products(graph);
  const auto origins = products.origins(named(graph, "d"), Between::Mlp);
  ASSERT_TRUE(origins && origins->size() == 1);
  EXPECT_EQ(origins->front().parts, 2);
  EXPECT_FALSE(products.origins(named(graph, "y"), Between::Mlp)) << "a Softmax lies between";
  EXPECT_FALSE(products.origins(named(graph, "x"), Between::Mlp)) << "the model's input is no product";
}

TEST(ProductGraph, FindsTheOneProductOfActivationsBeforeAndAfter) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,2] x, float[2,2] m) => (float[2,2] y) <float[1] w> {"
      " s = MatMul(x, x)\n t = Add(s, m)\n p = Softmax(t)\n y = MatMul(p, x) }");
  const ProductGraph products(graph);
  EXPECT_EQ(products.product_before(named(graph, "t")), products.producer(named(graph, "s")));
  EXPECT_EQ(products.product_after(named(graph, "p"), Operand::Activation),
            products.producer(named(graph, "y")));
  EXPECT_FALSE(products.product_after(named(graph, "p"), Operand::Weight));
}

}  // namespace
}  // namespace podium::annotate
