#include "annotate/spatial.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/match.h"
#include "tests/support/graph_with_weights.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_with_weights;
using testing::refusal;

// "c 2/4 on 0|1|2|3": results with each axis and the number of its shards, and the devices of each shard.
std::string results_cut(const ir::Graph& graph, const ImageGroups& groups) {
  std::string text;
  for (const OpTensorSpec& said : cut_images(graph, groups).specs) {
    EXPECT_EQ(graph[said.op].outputs[0], said.tensor);
    text += graph[said.tensor].name;
    for (const ir::ShardedAxis& axis : said.spec.axes)
      text += fmt::format(" {}/{}", axis.axis, axis.factors.at(0).shards);
    std::vector<std::string> shards;
    for (const auto& devices : said.spec.holders)
      shards.push_back(fmt::format("{}", fmt::join(devices, " ")));
    text += fmt::format(" on {}; ", fmt::join(shards, "|"));
  }
  return text;
}

constexpr const char* kTwoSteps =
    "<float[4,3,3,3] w, float[4,4,2,2] v> {"
    " c = Conv <pads = [1,1,1,1]> (x, w)\n r = Relu(c)\n"
    " p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)\n y = Conv <strides = [2,2]> (p, v) }";

TEST(Spatial, CutsWhatWindowsMakeByRows) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,16,8] x) => (float[1,4,4,2] y) ") + kTwoSteps);
  EXPECT_EQ(results_cut(graph, {.rows = 4}), "c 2/4 on 0|1|2|3; p 2/4 on 0|1|2|3; y 2/4 on 0|1|2|3; ");
}

TEST(Spatial, TakesColumnsWhereTheseAreMore) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,8,16] x) => (float[1,4,2,4] y) ") + kTwoSteps);
  EXPECT_EQ(results_cut(graph, {.rows = 4}), "c 3/4 on 0|1|2|3; p 3/4 on 0|1|2|3; y 3/4 on 0|1|2|3; ");
}

// Five rows over four devices are 2 2 1 and none.
TEST(Spatial, LeavesWholeWhatWouldLeaveADeviceWithoutARow) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,10,8] x) => (float[1,4,2,2] y) ") + kTwoSteps);
  EXPECT_EQ(results_cut(graph, {.rows = 4}), "c 2/4 on 0|1|2|3; p on 0 1 2 3; y on 0 1 2 3; ");
  EXPECT_EQ(results_cut(graph, {.rows = 2}), "c 2/2 on 0|1; p 2/2 on 0|1; y 2/2 on 0|1; ");
}

constexpr const char* kNormalised =
    "<float[4,3,3,3] w, float[4] s, float[4] b, float[4] m, float[4] v> {"
    " c = Conv <pads = [1,1,1,1]> (x, w)\n"
    " y, n, u = BatchNormalization <training_mode = 1> (c, s, b, m, v) }";

TEST(Spatial, CutsSamplesOfConvolutionsAndOfNormalisationsThatTrain) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[4,3,8,8] x) => (float[4,4,8,8] y) ") + kNormalised);
  EXPECT_EQ(results_cut(graph, {.samples = 2}), "c 0/2 on 0|1; y 0/2 on 0|1; ");
  EXPECT_EQ(results_cut(graph, {.rows = 2}), "c 2/2 on 0|1; ");
}

TEST(Spatial, CutsSamplesOverGroupsThatShareOutRows) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[2,3,8,8] x) => (float[2,4,8,8] y) ") + kNormalised);
  EXPECT_EQ(results_cut(graph, {.rows = 2, .samples = 2}), "c 0/2 2/2 on 0|1|2|3; y 0/2 on 0 1|2 3; ");
}

// One sample is all there is for two groups, which both have all rows.
TEST(Spatial, LeavesSamplesWholeOfWhichThereAreTooFew) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,8,8] x) => (float[1,4,8,8] y) ") + kNormalised);
  EXPECT_EQ(results_cut(graph, {.rows = 2, .samples = 2}), "c 2/2 on 0 2|1 3; ");
}

TEST(Spatial, RefusesGraphsWithoutImagesToCut) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,16,8] x) => (float[1,4,4,2] y) ") + kTwoSteps);
  EXPECT_EQ(refusal([&] { cut_images(graph, {.rows = 17}); }),
            "no convolution, pool or batch normalisation found whose images have 17 rows or columns, one for each device needed");
  EXPECT_EQ(
      refusal([&] { cut_images(graph, {.rows = 17, .samples = 2}); }),
      "no convolution, pool or batch normalisation found whose images have 17 rows or columns, or 2 samples, one for each device "
      "needed");
}

}  // namespace
}  // namespace podium::annotate
