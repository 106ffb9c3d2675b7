#include "ir/passes/split_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::ElementsAre;
using testing::graph_of;
using ::testing::HasSubstr;

// The type of the first output of the graph for a half of its batch.
std::string half(const std::string& body) {
  const BatchSplit split = split_batch(graph_of(body), 2);
  return to_string(split.graph[split.graph.outputs[0]].type);
}

std::string split_refusal(const std::string& body, int slices = 2) {
  return testing::refusal([&] { split_batch(graph_of(body), slices); });
}

TEST(SplitBatch, GivesEveryValueItsPartOfTheBatch) {
  const BatchSplit split =
      split_batch(graph_of(R"(g (float[4, 3] x) => (float[4, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
    a = MatMul(x, w)
    y = Relu(a)
  })"),
                  4);
  EXPECT_THAT(print(split.graph), HasSubstr("a = MatMul(x, w)  # float[1,2]\n"
                                            "y = Relu(a)  # float[1,2]\n"));
  EXPECT_THAT(split.input_axes, ElementsAre(0));
  EXPECT_THAT(split.output_axes, ElementsAre(0));
}

TEST(SplitBatch, FollowsTheBatchThroughTransposesAndBatchMajorReshapes) {
  EXPECT_EQ(half(R"(g (float[4, 6] x) => (float[4, 2, 3] y) <int64[3] s = {4, 2, 3}> { y = Reshape(x, s) })"),
            "float[2,2,3]");
  EXPECT_EQ(half(R"(g (float[4, 6] x) => (float[8, 3] y) <int64[2] s = {8, 3}> { y = Reshape(x, s) })"),
            "float[4,3]");
  EXPECT_EQ(
      half(R"(g (float[4, 6] x) => (float[1, 4, 6] y) <int64[3] s = {1, -1, 6}> { y = Reshape(x, s) })"),
      "float[1,2,6]");
  EXPECT_EQ(half(R"(g (float[4, 6] x) => (float[6, 4] y) { y = Transpose(x) })"), "float[6,2]");
  EXPECT_EQ(half(R"(g (float[4, 3, 2] x) => (float[4, 6] y) { y = Flatten(x) })"), "float[2,6]");
}

TEST(SplitBatch, RecurrentOpsHaveTheBatchOnTheSecondAxis) {
  const BatchSplit split = split_batch(graph_of(R"(g (float[5, 4, 2] x) => (float[5, 1, 4, 1] y)
    <float[1, 4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1, 4, 1] r = {1, 2, 3, 4}, float[1, 4, 1] h = {0, 0, 0, 0}> {
    y = LSTM <hidden_size = 1> (x, w, r, , , h)
  })"),
                                       2);
  EXPECT_EQ(to_string(split.graph[split.graph.outputs[0]].type), "float[5,1,2,1]");
}

TEST(SplitBatch, ConstantsOfTheBatchsSizeFollowWhenTheyAreTheSameForEverySlice) {
  EXPECT_EQ(
      half(
          R"(g (float[4, 1] x) => (float[4, 2] y) <float[4, 2] c = {1, 2, 3, 4, 1, 2, 3, 4}> { y = Add(x, c) })"),
      "float[2,2]");
  EXPECT_THAT(
      split_refusal(
          R"(g (float[4, 1] x) => (float[4, 2] y) <float[4, 2] c = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Add(x, c) })"),
      HasSubstr("differs between the 2 slices"));
  EXPECT_EQ(
      half(
          R"(g (float[4, 1] x) => (float[4, 3] y) <float[4, 2] c = {1, 2, 1, 2, 1, 2, 1, 2}> { y = Concat <axis = 1> (x, c) })"),
      "float[2,3]");
  EXPECT_EQ(half(R"(g (float[4, 1] x) => (float[4, 2] y) <int64[2] s = {4, 2}> { y = Expand(x, s) })"),
            "float[2,2]");
}

TEST(SplitBatch, RefusesWhatMixesSamples) {
  for (const char* op :
       {"Softmax <axis = 0> (x)", "ReduceMean <keepdims = 1> (x, zero)", "CumSum(x, zero)",
        "Concat <axis = 0> (x, x)", "Slice(x, last, first, zero, last)",
        "Split <axis = 0, num_outputs = 1> (x)", "Gather <axis = 0> (x, order)",
        "MeanVarianceNormalization <axes = [0, 1]> (x)", "Einsum <equation = \"bi,ci->bi\"> (x, x)",
        "Tile(x, twice)", "Reshape(turned, shape)"}) {
    const std::string text = fmt::format(R"(g (float[4, 4] x) => (float[A, B] y)
      <int64[1] zero = {{0}}, int64[1] last = {{-1}}, int64[1] first = {{-9}}, int64[4] order = {{3, 2, 1, 0}},
       int64[2] twice = {{2, 1}}, int64[2] shape = {{2, 8}}> {{
      turned = Transpose(x)
      y = {}
    }})",
                                         op);
    EXPECT_THAT(split_refusal(text), HasSubstr("node 'y'")) << op;
  }
}

// An input is taken for a batch; where an op has another use for it, that shows at the op.
TEST(SplitBatch, RefusesInputsThatAreNoBatch) {
  EXPECT_THAT(split_refusal("g (float[4, 2, 3] x, float[2] scale, float[2] bias) => (float[4, 2, 3] y) {"
                            " y = InstanceNormalization(x, scale, bias) }"),
              HasSubstr("node 'y' (InstanceNormalization)"));
  EXPECT_THAT(split_refusal("g (float[4, 2] x, float[2] bias) => (float[4, 2] y) { y = Add(x, bias) }"),
              HasSubstr("node 'y' (Add)"));
  EXPECT_THAT(
      split_refusal("g (float[4, 2, 2, 8] q, float[4, 2, 2, 8] k, float[4, 2, 2, 8] v, float[2, 2] mask) =>"
                    " (float[4, 2, 2, 8] y) { y = Attention(q, k, v, mask) }"),
      HasSubstr("node 'y' (Attention)"));
  EXPECT_THAT(
      split_refusal("g (float[4, 4] table, int64[4, 4] indices) => (float[4, 4] y) <int64[1] axis = {1}> {"
                    " fixed = Transpose(table)\n y = GatherElements <axis = 1> (fixed, indices) }"),
      HasSubstr("node 'y' (GatherElements)"));
}

TEST(SplitBatch, KeepsWhatWorksInsideASample) {
  for (const char* op :
       {"Softmax <axis = 1> (x)", "ReduceMean <keepdims = 1> (x, one)", "CumSum(x, one)",
        "Concat <axis = 1> (x, x)", "Slice(x, last, first, one, last)", "Gather <axis = 1> (x, order)",
        "Einsum <equation = \"bi,bj->bj\"> (x, x)", "LayerNormalization(x, scale)", "Tile(x, twice)"}) {
    const std::string text = fmt::format(R"(g (float[4, 4] x) => (float[4, B] y)
      <int64[1] one = {{1}}, int64[1] last = {{-1}}, int64[1] first = {{-9}}, int64[4] order = {{3, 2, 1, 0}},
       int64[2] twice = {{1, 2}}, float[4] scale = {{1, 1, 1, 1}}> {{
      y = {}
    }})",
                                         op);
    EXPECT_THAT(half(text), ::testing::StartsWith("float[2,")) << op;
  }
}

TEST(SplitBatch, NamesTheOpThatMixesSamples) {
  EXPECT_EQ(split_refusal(R"(g (float[4, 2] x) => (float[4, 2] y) { y = Softmax <axis = 0> (x) })"),
            "node 'y' (Softmax): mixes the samples of a batch or is not known to keep them apart, so it "
            "cannot be split "
            "into 2 slices");
  EXPECT_EQ(
      split_refusal(
          R"(g (float[4, 2] x) => (float[2] y) <int64[1] zero = {0}> { y = ReduceSum <keepdims = 0> (x, zero) })"),
      "node 'y' (ReduceSum): gives float[2] for a slice of the batch and float[2] for all of it, one "
      "dimension "
      "divided by 2 needed");
}

TEST(SplitBatch, RefusesABatchThatDoesNotSplit) {
  EXPECT_EQ(split_refusal("g (float[6, 2] x) => (float[6, 2] y) { y = Relu(x) }", 4),
            "input 'x': a batch of 6 found, a multiple of 4 slices needed");
  EXPECT_THAT(split_refusal("g (float x) => (float y) { y = Relu(x) }"),
              HasSubstr("a known shape with a batch needed"));
}

// A graph for a half of its batch that becomes one that trains the weight "w".
BatchSplit half_to_train(const std::string& body) {
  const Graph graph = graph_of(body);
  return split_to_train(graph, 2, {{.value = testing::value_named(graph, "w")}});
}

// Its ops, from the one named on.
std::string half_of_training(const std::string& body, const std::string& from) {
  const std::string text = print(half_to_train(body).graph);
  return text.substr(text.find(from));
}

std::string refusal_of_training(const std::string& body) {
  return testing::refusal([&] { half_to_train(body); });
}

TEST(SplitToTrain, AMeanBecomesTheSharesOfTheSlices) {
  EXPECT_EQ(half_of_training(R"(g (float[4, 2] x, float[2] w) => (float loss)
    { y = Mul(x, w) loss = ReduceMean <keepdims = 0> (y) })",
                             "y = "),
            "y = Mul(x, w)  # float[2,2]\n"
            "loss:1 = ReduceMean(y) {keepdims=0}  # float[]\n"
            "loss = Div(loss:1, loss_slices:0)  # float[]\n"
            "output loss\n");
}

TEST(SplitToTrain, SumsAreWhatTheSlicesAddUpTo) {
  EXPECT_EQ(half_of_training(R"(g (float[4, 2] x, float[2] w) => (float loss) <float c = {8}>
    { y = Mul(x, w) s = ReduceSum <keepdims = 0> (y) loss = Div(s, c) })",
                             "loss = "),
            "loss = Div(s, c)  # float[]\noutput loss\n");
}

// A number more in every slice is right in a mean, where slices count by their share, and wrong in a sum.
TEST(SplitToTrain, WhatIsAddedToALossCountsOnce) {
  const char* text = R"(g (float[4, 2] x, float[2] w) => (float loss)
    {{ y = Mul(x, w) l = {} <keepdims = 0> (y) n = ReduceL2 <keepdims = 0> (w) loss = Add(l, n) }})";
  EXPECT_EQ(refusal_of_training(fmt::format(fmt::runtime(text), "ReduceMean")), "");
  EXPECT_THAT(refusal_of_training(fmt::format(fmt::runtime(text), "ReduceSum")),
              HasSubstr("node 'loss' (Add)"));
}

TEST(SplitToTrain, ClassesCountAlikeInEverySlice) {
  const char* text = R"(g (float[4, 2] x, int64[4] labels, float[2] w) => (float loss)
    {{ y = Mul(x, w) loss = SoftmaxCrossEntropyLoss <{}> (y, labels) }})";
  EXPECT_EQ(refusal_of_training(fmt::format(fmt::runtime(text), "reduction = \"mean\"")), "");
  EXPECT_EQ(refusal_of_training(fmt::format(fmt::runtime(text), "reduction = \"sum\", ignore_index = 1")),
            "");
  EXPECT_THAT(refusal_of_training(fmt::format(fmt::runtime(text), "reduction = \"mean\", ignore_index = 1")),
              HasSubstr("node 'loss' (SoftmaxCrossEntropyLoss): mixes the samples"));
}

TEST(SplitToTrain, RefusesWhatMixesSamples) {
  for (const char* op : {"Softmax <axis = 0> (x)", "ReduceMax <keepdims = 1> (x, zero)", "Mul(mean, mean)",
                         "Mul(x, mean)", "Sqrt(mean)", "Div(w, mean)"}) {
    const std::string text =
        fmt::format(R"(g (float[4, 2] x, float[2] w) => (float loss) <int64[1] zero = {{0}}> {{
      mean = ReduceMean <keepdims = 1> (x, zero)
      y = {}
      z = Mul(y, w)
      loss = ReduceMean <keepdims = 0> (z)
    }})",
                    op);
    EXPECT_THAT(refusal_of_training(text), HasSubstr("node 'y'")) << op;
  }
}

TEST(SplitToTrain, NamesBatchNormalizationThatNormalizesByItsBatch) {
  EXPECT_THAT(refusal_of_training(R"(g (float[4, 2] x, float[2] w) => (float loss)
    <float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}>
    { y, mean, var = BatchNormalization <training_mode = 1> (x, w, b, m, v) loss = ReduceMean <keepdims = 0> (y) })"),
              HasSubstr("(BatchNormalization): mixes the samples of a batch"));
}

TEST(SplitToTrain, RefusesAVariableAsOutput) {
  EXPECT_THAT(
      refusal_of_training("g (float[4, 2] x, float[2] w) => (float[4, 2] y, float[2] w) { y = Mul(x, w) }"),
      HasSubstr("output 'w': a variable"));
}

}  // namespace
}  // namespace podium::ir
