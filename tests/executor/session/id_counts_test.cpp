#include "executor/session/id_counts.h"

#include <gtest/gtest.h>

#include "executor/session/sized_graph.h"
#include "tests/support/graph_text.h"

namespace podium {
namespace {

IdCounts counts(const std::string& text) { return count_ids(infer_sizes(testing::graph_of(text)).graph); }

TEST(IdCounts, AreTheRowsOfTheTableThatIsLookedUp) {
  EXPECT_EQ(counts("g (float[50,4] words, int64[2,3] ids) => (float[2,3,4] y) { y = Gather(words, ids) }"),
            (IdCounts{{"ids", 50}}));
  EXPECT_EQ(
      counts("g (float[4,50] x, int32[4,3] ids) => (float[4,3] y) { y = GatherElements<axis = -1>(x, ids) }"),
      (IdCounts{{"ids", 50}}));
}

TEST(IdCounts, AreTheClassesOfALossAndTheDepthOfAOneHot) {
  EXPECT_EQ(counts("g (float[8,10] scores, int64[8] labels) => (float loss) {"
                   " loss = SoftmaxCrossEntropyLoss(scores, labels) }"),
            (IdCounts{{"labels", 10}}));
  EXPECT_EQ(counts("g (int64[8] labels) => (float[8,7] y) <int64[1] depth = {7}, float[2] values = {0, 1}> {"
                   " y = OneHot(labels, depth, values) }"),
            (IdCounts{{"labels", 7}}));
}

TEST(IdCounts, AreTheSmallestOfAllThatIsLookedUp) {
  EXPECT_EQ(counts("g (float[50,4] words, float[9,4] places, int64[3] ids) => (float[3,4] a, float[3,4] b) {"
                   " a = Gather(words, ids)\n b = Gather(places, ids) }"),
            (IdCounts{{"ids", 9}}));
}

TEST(IdCounts, AreSeenThroughWhatMovesAndComparesIds) {
  EXPECT_EQ(counts("g (float[50,4] words, int64[2,3] ids) => (float[6,4] y, bool[2,3] padded)"
                   " <int64[1] flat = {-1}, int64 pad = {1}> {"
                   " row = Reshape(ids, flat)\n small = Cast<to = 6>(row)\n y = Gather(words, small)\n"
                   " padded = Equal(ids, pad) }"),
            (IdCounts{{"ids", 50}}));
}

TEST(IdCounts, AreNotToldOfWhatIsCalculatedWith) {
  EXPECT_EQ(counts("g (float[50,4] words, int64[3] ids) => (float[3,4] y) <int64 one = {1}> {"
                   " next = Add(ids, one)\n y = Gather(words, next) }"),
            IdCounts());
  EXPECT_EQ(counts("g (float[50,4] words, int64[3] ids) => (float[3,4] y, float[3] z) {"
                   " y = Gather(words, ids)\n z = Cast<to = 1>(ids) }"),
            IdCounts());
}

}  // namespace
}  // namespace podium
