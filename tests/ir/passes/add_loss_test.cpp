#include "ir/passes/add_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/infer.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kScores = "g (float[4,3] x) => (float[4,3] y) { y = Relu <__ipu_number = 1> (x) }";

Graph scores() {
  Graph graph = testing::graph_of(kScores);
  infer(graph);
  return graph;
}

std::string types_with(LossKind kind, const std::string& target) {
  Graph graph = scores();
  const std::string name = add_loss(graph, kind, "y", target);
  verify(graph);
  const Value& loss = graph[graph.outputs.back()];
  EXPECT_EQ(loss.name, name);
  return to_string(graph[graph.inputs.back()].type) + " " + to_string(loss.type);
}

std::string refusal(const std::string& output, const std::string& target) {
  Graph graph = scores();
  try {
    add_loss(graph, LossKind::CrossEntropy, output, target);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AddLoss, TakesClassNumbersOrATensorLikeTheOutput) {
  EXPECT_EQ(types_with(LossKind::CrossEntropy, "label"), "int64[4] float[]");
  EXPECT_EQ(types_with(LossKind::NegativeLogLikelihood, "label"), "int64[4] float[]");
  EXPECT_EQ(types_with(LossKind::MeanSquaredError, "wanted"), "float[4,3] float[]");
  EXPECT_EQ(types_with(LossKind::L1, "wanted"), "float[4,3] float[]");
}

TEST(AddLoss, UsesAnInputThatIsThere) {
  Graph graph = scores();
  add_loss(graph, LossKind::MeanSquaredError, "y", "x");
  EXPECT_EQ(graph.inputs.size(), 1U);
}

TEST(AddLoss, RunsWhereTheOutputIsMade) {
  Graph graph = scores();
  add_loss(graph, LossKind::L1, "y", "wanted");
  for (const Op& op : graph.ops) EXPECT_EQ(attribute<std::int64_t>(op, "__ipu_number"), 1) << op.name;
}

TEST(AddLoss, NamesWhatDoesNotFit) {
  EXPECT_THAT(refusal("z", "label"), HasSubstr("output 'z': the model has none of this name, the nearest is 'y'"));
  EXPECT_THAT(refusal("y", "x"), HasSubstr("target 'x': the model's input is float[4,3], int64[4] needed"));
}

}  // namespace
}  // namespace podium::ir
