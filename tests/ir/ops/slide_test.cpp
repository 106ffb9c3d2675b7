#include "ir/ops/slide.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

Slide slide(const std::string& graph_text) {
  const Graph graph = testing::graph_of(graph_text);
  return slides_of(TypedOp(graph, graph.ops.back())).at(0);
}

const char* const kConvolution =
    "agraph (float[1,1,11] x, float[1,1,3] w) => (float[1,1,6] y) { y = Conv<pads=[1,1], strides=[2]>(x, w) }";

TEST(Slide, OfAConvolutionIsClippedAtTheEdges) {
  const Slide of = slide(kConvolution);
  EXPECT_EQ(of.seen_by({0, 2}), (IndexRange{0, 4}));
  EXPECT_EQ(of.seen_by({2, 4}), (IndexRange{3, 8}));
  EXPECT_EQ(of.seen_by({4, 6}), (IndexRange{7, 11}));
}

TEST(Slide, FindsTheWindowsThatSeeAnElement) {
  const Slide of = slide(kConvolution);
  EXPECT_EQ(of.windows_over({0, 4}), (IndexRange{0, 3}));
  EXPECT_EQ(of.windows_over({4, 5}), (IndexRange{2, 3}));
  EXPECT_EQ(of.windows_over({5, 6}), (IndexRange{2, 4}));
}

// Windows of one in steps of three: elements 1 and 2 lie between windows 0 and 1.
TEST(Slide, GivesAnElementBetweenWindowsTheOneBeforeIt) {
  const Slide of =
      slide("agraph (float[1,1,9] x, float[1,1,1] w) => (float[1,1,3] y) { y = Conv<strides=[3]>(x, w) }");
  EXPECT_EQ(of.windows_over({1, 3}), (IndexRange{0, 1}));
  EXPECT_EQ(of.windows_over({2, 4}), (IndexRange{0, 2}));
  EXPECT_EQ(of.windows_over({7, 9}), (IndexRange{2, 3}));
}

TEST(Slide, SeesNothingInPaddingAlone) {
  const Slide of =
      slide("agraph (float[1,1,2] x, float[1,1,1] w) => (float[1,1,8] y) { y = Conv<pads=[3,3]>(x, w) }");
  EXPECT_EQ(of.seen_by({0, 2}), (IndexRange{0, 0}));
}

TEST(Slide, GivesAPartPaddingsOfItsOwn) {
  Graph graph = testing::graph_of(
      "agraph (float[1,1,11] x, float[1,1,3] w) => (float[1,1,6] y) "
      "{ y = Conv<auto_pad=\"SAME_UPPER\", strides=[2]>(x, w) }");
  Op& op = graph.ops.back();
  const std::vector<Slide> slides = slides_of(TypedOp(graph, op));
  fit_slides(op, slides, {{slides[0].seen_by({2, 4}), {2, 4}}});
  EXPECT_EQ(attribute<IntList>(op, "pads"), (IntList{0, 0}));
  fit_slides(op, slides, {{slides[0].seen_by({4, 6}), {4, 6}}});
  EXPECT_EQ(attribute<IntList>(op, "pads"), (IntList{0, 1}));
  EXPECT_EQ(attribute<std::string>(op, "auto_pad"), "NOTSET");
}

}  // namespace
}  // namespace podium::ir
