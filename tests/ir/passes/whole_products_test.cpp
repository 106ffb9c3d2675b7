#include "ir/passes/whole_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/annotation.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

const std::string kConstants =
    "<float s = {0.5}, uint8 z = {3}, float[2] t = {0.25, 2}, int8[2] u = {0, 0}, int8[2,1,1,1] w = {1, -2},"
    " float[2] b = {1, 2}> ";

TEST(WholeProducts, ScaleWhatAConvolutionSums) {
  Graph graph = graph_of("g (uint8[1,1,2,2] q) => (float[1,2,2,2] y) " + kConstants +
                         "{ x = DequantizeLinear(q, s, z) v = DequantizeLinear<axis = 0>(w, t, u)"
                         " y = Conv(x, v, b) }");
  const Tensor q = testing::tensor<std::uint8_t>({1, 1, 2, 2}, {3, 4, 5, 7});
  const auto before = testing::run_graph(graph, {q});
  EXPECT_TRUE(multiply_whole_numbers(graph));
  std::string kinds;
  for (const Op& op : graph.ops) kinds += std::string(op.spec->name) + " ";
  EXPECT_THAT(kinds, HasSubstr("DequantizeLinear DequantizeLinear Conv Mul Reshape Add "));
  EXPECT_FALSE(multiply_whole_numbers(graph));
  const auto after = testing::run_graph(graph, {q});
  EXPECT_EQ(testing::values<float>(after[0]), testing::values<float>(before[0]));
  EXPECT_EQ(testing::values<float>(after[0])[3], 4 * 0.5F * 0.25F + 1);
}

TEST(WholeProducts, ScaleWhatMatricesSum) {
  for (const std::string product : {"MatMul(x, v)", "Gemm(x, v, b)", "Gemm<transB = 1>(x, v, b)"}) {
    SCOPED_TRACE(product);
    const std::string axis = product.find("transB") == std::string::npos ? "1" : "0";
    Graph graph = graph_of(
        "g (int8[1,2] q) => (float[1,2] y) <float s = {0.5}, float[2] t = {0.25, 2}, int8[2,2] w = {1, -2, 3, 4},"
        " float[2] b = {1, 2}> { x = DequantizeLinear(q, s) v = DequantizeLinear<axis = " +
        axis + ">(w, t) y = " + product + " }");
    const Tensor q = testing::tensor<std::int8_t>({1, 2}, {5, -7});
    const auto before = testing::run_graph(graph, {q});
    EXPECT_TRUE(multiply_whole_numbers(graph));
    EXPECT_EQ(std::ranges::count_if(
                  graph.ops, [](const Op& op) { return find_attribute(op, kMultipliesBytes) != nullptr; }),
              1);
    EXPECT_EQ(testing::values<float>(testing::run_graph(graph, {q})[0]), testing::values<float>(before[0]));
  }
}

TEST(WholeProducts, LeaveWhatHasNoCommonScale) {
  const auto changes = [](const std::string& inputs, const std::string& ops) {
    Graph graph =
        graph_of("g (int8[1,2] q" + inputs +
                 ") => (float[1,2] y) <float s = {0.5}, float[2] t = {0.25, 2}, int8[2,2] w = {1, -2, 3, 4},"
                 " float[2,2] f = {1, 2, 3, 4}> { " +
                 ops + " }");
    return multiply_whole_numbers(graph);
  };
  // Scales along the summed axis, weights that are no constant, and weights that are no whole numbers.
  EXPECT_FALSE(
      changes("", "x = DequantizeLinear(q, s) v = DequantizeLinear<axis = 0>(w, t) y = MatMul(x, v)"));
  EXPECT_FALSE(
      changes(", int8[2,2] p", "x = DequantizeLinear(q, s) v = DequantizeLinear(p, s) y = MatMul(x, v)"));
  EXPECT_FALSE(changes("", "x = DequantizeLinear(q, s) y = MatMul(x, f)"));
  EXPECT_TRUE(changes("", "x = DequantizeLinear(q, s) v = DequantizeLinear(w, s) y = MatMul(x, v)"));
}

}  // namespace
}  // namespace podium::ir
