#include <gtest/gtest.h>

#include "ir/graph.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

TEST(Print, ShowsInputsConstantsOpsAndOutputs) {
  const Graph graph = testing::graph_of(
      "g (float[2,N] x) => (float[2,N] y) <float[1] k = {1}> { a = Add(x, k) y = Softmax<axis = 0>(a) }");
  EXPECT_EQ(print(graph),
            "input x  # float[2,?]\n"
            "constant k  # float[1]\n"
            "a = Add(x, k)  # float[2,?]\n"
            "y = Softmax(a) {axis=0}  # float[2,?]\n"
            "output y\n");
}

TEST(Print, IndentsBodiesAndMarksWhatIsLeftOut) {
  const Graph graph = testing::graph_of(
      "g (bool c, float[2] x, float most) => (float[2] y) {"
      "y = If(c) <then_branch = t () => (float[2] p) { p = Clip(x, , most) },"
      "           else_branch = e () => (float[2] q) { q = Neg(x) }> }");
  EXPECT_EQ(print(graph),
            "input c  # bool[]\n"
            "input x  # float[2]\n"
            "input most  # float[]\n"
            "y = If(c, x, most) {then_branch=graph, else_branch=graph}  # float[2]\n"
            "  then_branch:\n"
            "    input x  # float[2]\n"
            "    input most  # float[]\n"
            "    p = Clip(x, _, most)  # float[2]\n"
            "    output p\n"
            "  else_branch:\n"
            "    input x  # float[2]\n"
            "    input most:unused  # float[]\n"
            "    q = Neg(x)  # float[2]\n"
            "    output q\n"
            "output y\n");
}

}  // namespace
}  // namespace podium::ir
