#include "ir/passes/follow_annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/filled.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

const std::string kOperands = "g (float[4,6] x, float[6,8] w) => (float[4,8] y) ";

Tensor counted(Dims dims) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < element_count(dims); ++i) numbers.push_back(static_cast<float>(i % 7 - 3));
  return testing::tensor<float>(std::move(dims), numbers);
}

std::string ops_of(const Graph& graph) {
  std::string names;
  for (const Op& op : graph.ops) names += std::string(op.spec->name) + " ";
  return names;
}

std::string serialized(const std::string& mode, int factor) {
  return fmt::format(
      "{}{{ y = MatMul <__serialize_matmul_mode = \"{}\", __serialize_matmul_factor = {}> (x, w) }}",
      kOperands, mode, factor);
}

TEST(FollowAnnotations, ProductsInPartsGiveTheSameNumbers) {
  const std::vector<Datum> inputs{counted({4, 6}), counted({6, 8})};
  const auto whole = testing::run_graph(graph_of(kOperands + "{ y = MatMul(x, w) }"), inputs);
  const std::pair<const char*, const char*> ways[] = {
      {"input_channels", "Split MatMul MatMul Concat Identity "},
      {"output_channels", "Split MatMul MatMul Concat Identity "},
      {"reducing_dim", "Split Split MatMul MatMul Add Identity "}};
  for (const auto& [mode, ops] : ways) {
    Graph graph = graph_of(serialized(mode, 2));
    EXPECT_TRUE(follow_product_annotations(graph));
    EXPECT_EQ(ops_of(graph), ops);
    EXPECT_EQ(testing::values<float>(testing::run_graph(graph, inputs)[0]), testing::values<float>(whole[0]))
        << mode;
    EXPECT_FALSE(follow_product_annotations(graph));
  }
}

TEST(FollowAnnotations, PartsKeepWhatElseTheNodeIsAnnotatedWith) {
  Graph graph =
      graph_of(kOperands +
               "{ y = MatMul <__serialize_matmul_mode = \"input_channels\", __serialize_matmul_factor = "
               "4, __ipu_number = 3> (x, w) }");
  follow_product_annotations(graph);
  for (const Op& op : graph.ops) EXPECT_EQ(attribute<std::int64_t>(op, "__ipu_number"), 3);
}

TEST(FollowAnnotations, AFactorThatDividesNothingIsRefused) {
  const auto refusal = [](const std::string& text) {
    Graph graph = graph_of(text);
    return testing::refusal([&] { follow_product_annotations(graph); });
  };
  EXPECT_THAT(refusal(serialized("reducing_dim", 4)),
              HasSubstr("__serialize_matmul_factor 4 found, a divisor of the 6 of axis 1 of 'x' needed"));
  EXPECT_THAT(refusal(serialized("input_channels", 0)),
              HasSubstr("__serialize_matmul_factor 0 found, at least 1 needed"));
  EXPECT_THAT(refusal(kOperands + "{ y = MatMul <__output_type = \"INT\"> (x, w) }"),
              HasSubstr("__output_type is 'INT', FLOAT or FLOAT16 needed"));
}

TEST(FollowAnnotations, AnOutputTypeIsThatOfTheResult) {
  Graph graph = graph_of(kOperands + "{ y = MatMul <__output_type = \"FLOAT16\"> (x, w) }");
  EXPECT_TRUE(follow_product_annotations(graph));
  EXPECT_EQ(graph[graph.outputs[0]].type.element, DataType::Float16);
  EXPECT_EQ(ops_of(graph), "MatMul Cast Identity ");
  // 4097 is no number of 16 bits.
  Graph wide = graph_of(
      "g (float16[1,2] x, float16[2,1] w) => (float[1,1] y) { y = MatMul <__output_type = \"float\"> (x, w) }");
  EXPECT_TRUE(follow_product_annotations(wide));
  const Tensor x = multiplied(testing::tensor<float>({1, 2}, {64, 1}), 1, DataType::Float16);
  const Tensor w = multiplied(testing::tensor<float>({2, 1}, {64, 1}), 1, DataType::Float16);
  EXPECT_EQ(testing::values<float>(testing::run_graph(wide, {x, w})[0])[0], 4097);
}

// Channels 0 and 2 are a group, and 1 and 3; each group has a mean of 0 and a deviation of 1.
TEST(FollowAnnotations, StridedGroupsTakeEveryGthChannel) {
  const std::string text =
      "g (float[1,4,1] x) => (float[1,4,1] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 10, 20, 30}> "
      "{ y = GroupNormalization <num_groups = 2, epsilon = 0.0> (x, s, b) }";
  const std::vector<Datum> inputs{testing::tensor<float>({1, 4, 1}, {1, 50, 3, 70})};
  Graph graph = graph_of(text);
  EXPECT_TRUE(stride_channel_groups(graph));
  const auto y = testing::values<float>(testing::run_graph(graph, inputs)[0]);
  const std::vector<float> expected{-1, 8, 23, 34};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], expected[i], 1e-4F) << i;
}

}  // namespace
}  // namespace podium::ir
