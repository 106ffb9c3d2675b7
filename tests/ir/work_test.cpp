#include "ir/work.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;

Work work_of_last(const std::string& text) {
  const Graph graph = graph_of(text);
  return work_of(TypedOp(graph, graph.ops.back()));
}

TEST(Work, OfAProductIsTwiceItsMultiplyAdds) {
  const Work work = work_of_last("g (float[2, 3] a, float[3, 5] b) => (float[2, 5] y) { y = MatMul(a, b) }");
  EXPECT_EQ(work.flop, 2 * 2 * 3 * 5);
  EXPECT_EQ(work.bytes, 4 * (6 + 15 + 10));
}

TEST(Work, OfRowsThatAreLookedUpReadsNoMoreThanItGives) {
  const std::string rows = " table, int64[4] ids) => (float[4, 3] y) { y = Gather(table, ids) }";
  EXPECT_EQ(work_of_last("g (float[1000, 3]" + rows).bytes, 2 * 48 + 32);
  EXPECT_EQ(work_of_last("g (float[2, 3]" + rows).bytes, 24 + 48 + 32);
}

// Inference keeps an op of a body that it refuses, as the body may never run: nothing of its inputs is sure.
TEST(Work, OfWhatInferenceRefusedInsideABodyIsNothing) {
  EXPECT_EQ(
      work_of_last("g (int64 trips, bool go, float[1, 2, 4] x, float w) => (float[N] y) {"
                   " y = Loop <body = b (int64 i, bool c, float[1, 2, 4] v) => (bool d, float[M, N, O] u)"
                   " { d = Identity(c) u = ConvTranspose(v, w) }> (trips, go, x) }")
          .flop,
      0);
}

}  // namespace
}  // namespace podium::ir
