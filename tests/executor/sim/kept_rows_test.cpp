#include "executor/sim/kept_rows.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

// With a kernel that keeps rows of 1024 elements.
double reads(const std::string& ops, const std::string& inputs, const std::string& y) {
  device::Device device;
  device.row_bytes = 4096;
  const ir::Graph graph = testing::graph_of("g (" + inputs + ") => (" + y + " y) { " + ops + " }");
  return operand_reads(ir::TypedOp(graph, graph.ops.back()), device);
}

TEST(KeptRows, OfASoftmaxAreAsLongAsItsAxis) {
  EXPECT_EQ(reads("y = Softmax(x)", "float16[8, 1024] x", "float16[8, 1024]"), 1);
  EXPECT_EQ(reads("y = Softmax(x)", "float16[8, 1025] x", "float16[8, 1025]"), 2);
  EXPECT_EQ(reads("y = Softmax<axis = 0>(x)", "float16[8, 1025] x", "float16[8, 1025]"), 1);
}

TEST(KeptRows, OfALayerGoOnToTheLastAxis) {
  const std::string inputs = "float[8, 32, 64] x, float[32, 64] s";
  EXPECT_EQ(reads("y = LayerNormalization<axis = 1>(x, s)", inputs, "float[8, 32, 64]"), 2);
  EXPECT_EQ(reads("y = LayerNormalization<axis = 2>(x, c)", "float[8, 32, 64] x, float[64] c",
                  "float[8, 32, 64]"),
            1);
}

TEST(KeptRows, OfABatchAreThoseOfAllSamplesInTrainingAlone) {
  const std::string inputs = "float[64, 8, 7, 7] x, float[8] s, float[8] b, float[8] m, float[8] v";
  EXPECT_EQ(reads("y = BatchNormalization(x, s, b, m, v)", inputs, "float[64, 8, 7, 7]"), 1);
  EXPECT_EQ(reads("y, n, w = BatchNormalization<training_mode = 1>(x, s, b, m, v)", inputs,
                  "float[64, 8, 7, 7]"),
            2);
}

TEST(KeptRows, OfGroupsOfChannelsAndOfImagesAreWhatIsNormalisedTogether) {
  EXPECT_EQ(reads("y = GroupNormalization<num_groups = 4>(x, s, s)", "float[2, 16, 16, 16] x, float[16] s",
                  "float[2, 16, 16, 16]"),
            1);
  EXPECT_EQ(reads("y = GroupNormalization<num_groups = 2>(x, s, s)", "float[2, 16, 16, 16] x, float[16] s",
                  "float[2, 16, 16, 16]"),
            2);
  EXPECT_EQ(reads("y = InstanceNormalization(x, s, s)", "float[2, 16, 32, 32] x, float[16] s",
                  "float[2, 16, 32, 32]"),
            1);
  EXPECT_EQ(reads("y = MeanVarianceNormalization(x)", "float[2, 16, 32, 32] x", "float[2, 16, 32, 32]"), 2);
}

TEST(KeptRows, OfWhatDoesNotNormaliseAreNone) {
  EXPECT_EQ(reads("y = Relu(x)", "float[8, 4096] x", "float[8, 4096]"), 1);
}

}  // namespace
}  // namespace podium::sim
