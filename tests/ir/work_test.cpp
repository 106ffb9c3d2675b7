#include "ir/work.h"

#include <fmt/format.h>
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

TEST(Work, OfNGramsIsThatOfEachWordWithEachSkip) {
  const auto work = [](std::int64_t words, const std::string& skips) {
    return work_of_last(fmt::format(
        "g (int64[2,{}] x) => (float[2,2] y) {{ y = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 2, "
        "max_skip_count = {}, mode = \"TF\", ngram_counts = [0, 1], ngram_indexes = [0, 1], "
        "pool_int64s = [1, 2, 3]> (x) }}",
        words, skips));
  };
  EXPECT_EQ(work(10, "3").flop, 2 * 10 * 4 * 2);
  EXPECT_EQ(work(10, "4611686018427387904").flop, 2 * 10 * 11 * 2) << "words are no farther apart";
  EXPECT_EQ(work(1, "3").flop, 2 * 1 * 2 * 1);
  EXPECT_EQ(work(10, "3").bytes, 2 * 10 * 8 + 2 * 2 * 4);
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
