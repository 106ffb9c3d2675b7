#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

Graph small_graph() {
  return testing::graph_of("g (float[2] x) => (float[2] y) { a = Neg(x) y = Add(a, x) }");
}

std::string error_of(const Graph& graph) {
  return testing::refusal([&] { verify(graph); });
}

TEST(Verify, AcceptsWhatIsRight) { EXPECT_EQ(error_of(small_graph()), ""); }

TEST(Verify, ReadsInOrder) {
  Graph graph = small_graph();
  std::swap(graph.ops[0], graph.ops[1]);
  EXPECT_THAT(error_of(graph), HasSubstr("node 'y' (Add): value 'a' is read before it is produced"));
}

TEST(Verify, AValueIsProducedOnce) {
  Graph graph = small_graph();
  graph.ops.push_back(graph.ops[0]);
  EXPECT_THAT(error_of(graph), HasSubstr("value 'a' is produced twice, the second time by node 'a' (Neg)"));
}

TEST(Verify, OutputsAreProduced) {
  Graph graph = small_graph();
  graph.ops.pop_back();
  EXPECT_THAT(error_of(graph), HasSubstr("output 'y' is produced by no node"));
}

TEST(Verify, InputsAreAsManyAsTheRowSays) {
  Graph graph = small_graph();
  graph.ops[1].inputs.pop_back();
  EXPECT_THAT(error_of(graph), HasSubstr("node 'y' (Add): input 'B' is missing"));
  graph.ops[1].inputs = {graph.inputs[0], graph.inputs[0], graph.inputs[0]};
  EXPECT_THAT(error_of(graph), HasSubstr("3 inputs found, at most 2 needed"));
}

TEST(Verify, AttributesAreOfTheRow) {
  Graph graph = small_graph();
  set_attribute(graph.ops[0], "axis", std::int64_t{1});
  EXPECT_THAT(error_of(graph), HasSubstr("attribute 'axis' is not one of this op's"));
  Graph softmax = testing::graph_of("g (float[2] x) => (float[2] y) { y = Softmax(x) }");
  set_attribute(softmax.ops[0], "axis", 1.0F);
  EXPECT_THAT(error_of(softmax), HasSubstr("attribute 'axis' is float, int needed"));
}

TEST(Verify, BodiesAreLookedInto) {
  Graph graph = testing::graph_of(
      "g (bool c, float[2] x) => (float[2] y) {"
      "y = If(c) <then_branch = t () => (float[2] p) { p = Exp(x) }, else_branch = e () => (float[2] q) { q "
      "= Neg(x) }> }");
  Graph body = *attribute<Body>(graph.ops[0], "then_branch");
  body.ops.clear();
  set_attribute(graph.ops[0], "then_branch", Body(std::make_shared<const Graph>(body)));
  EXPECT_THAT(error_of(graph), HasSubstr("node 'y' (If): then_branch: output 'p' is produced by no node"));
}

TEST(Verify, ElementTypesFitTheRowAndEachOther) {
  EXPECT_THROW(testing::graph_of("g (string[2] x) => (string[2] y) { y = Neg(x) }"), Error);
  EXPECT_THROW(testing::graph_of("g (float[2] x, double[2] z) => (float[2] y) { y = Add(x, z) }"), Error);
}

}  // namespace
}  // namespace podium::ir
