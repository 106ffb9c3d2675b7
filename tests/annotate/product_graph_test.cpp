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

// As quantisation of a model's weights writes a product: its integers are scaled behind it.
TEST(ProductGraph, FindsProductsOfQuantizedNumbers) {
  const ir::Graph graph = graph_with_weights(
      "g (float[2,4] x) => (float[2,3] y) <int8[4,3] w, int8[3,3] v, float s> {"
      " q, scale, zero = DynamicQuantizeLinear(x)\n p = MatMulInteger(q, w, zero)\n f = Cast <to = 1> (p)\n"
      " both = Mul(scale, s)\n a = Mul(f, both)\n r = Relu(a)\n"
      " q2, scale2, zero2 = DynamicQuantizeLinear(r)\n p2 = MatMulInteger(q2, v, zero2)\n"
      " f2 = Cast <to = 1> (p2)\n y = Mul(f2, scale2) }");
  const ProductGraph products(graph);
  ASSERT_EQ(products.products().size(), 2U);
  const ir::OpId first = products.producer(named(graph, "p"));
  const auto origins = products.origins(named(graph, "q2"), Between::Mlp);
  ASSERT_TRUE(origins && origins->size() == 1) << "the way through the scale ends there";
  EXPECT_EQ(origins->front().product, first);
  EXPECT_EQ(products.product_after(named(graph, "a"), Operand::Weight),
            products.producer(named(graph, "p2")));
  EXPECT_EQ(products.without_reshapes(named(graph, "q")), named(graph, "x"));
}

TEST(ProductGraph, KnowsWhereQuantizedProductsHaveTheirWeights) {
  const ir::Graph graph = graph_with_weights(
      "g (uint8[1,3,4,4] x) => (uint8[1,5,4,4] y) <float s, uint8 z, int8[5,3,1,1] w, int8 wz, int32[5] b> {"
      " y = QLinearConv(x, s, z, w, s, wz, s, z, b) }");
  const ProductGraph products(graph);
  ASSERT_EQ(products.products().size(), 1U);
  const Product& product = products.products()[0];
  EXPECT_TRUE(product.is_convolution);
  EXPECT_EQ(product.columns, 5);
  EXPECT_EQ(graph[graph[product.op].inputs[product.weight]].name, "w");
  EXPECT_EQ(graph[graph[product.op].inputs[product.bias]].name, "b");
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
