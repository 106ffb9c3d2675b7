#include "annotate/spatial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/match.h"
#include "tests/support/graph_with_weights.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_with_weights;
using testing::refusal;

// "c 2/4 p all": results with the axis and the number of their shards, or whole on all devices.
std::string results_cut(const ir::Graph& graph, std::int64_t devices) {
  std::string text;
  for (const OpTensorSpec& said : cut_images(graph, devices).specs) {
    EXPECT_EQ(graph[said.op].outputs[0], said.tensor);
    const bool is_whole = said.spec.axes.empty();
    EXPECT_EQ(is_whole ? std::ssize(said.spec.holders[0]) : std::ssize(said.spec.holders), devices);
    text += graph[said.tensor].name +
            (is_whole ? " all " : fmt::format(" {}/{} ", said.spec.axes[0].axis, devices));
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
  EXPECT_EQ(results_cut(graph, 4), "c 2/4 p 2/4 y 2/4 ");
}

TEST(Spatial, TakesColumnsWhereTheseAreMore) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,8,16] x) => (float[1,4,2,4] y) ") + kTwoSteps);
  EXPECT_EQ(results_cut(graph, 4), "c 3/4 p 3/4 y 3/4 ");
}

// Five rows over four devices are 2 2 1 and none.
TEST(Spatial, LeavesWholeWhatWouldLeaveADeviceWithoutARow) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,10,8] x) => (float[1,4,2,2] y) ") + kTwoSteps);
  EXPECT_EQ(results_cut(graph, 4), "c 2/4 p all y all ");
  EXPECT_EQ(results_cut(graph, 2), "c 2/2 p 2/2 y 2/2 ");
}

TEST(Spatial, RefusesGraphsWithoutImagesToCut) {
  const ir::Graph graph =
      graph_with_weights(std::string("g (float[1,3,16,8] x) => (float[1,4,4,2] y) ") + kTwoSteps);
  EXPECT_EQ(refusal([&] { cut_images(graph, 17); }),
            "no convolution or pool found whose images have 17 rows or columns, one for each device needed");
}

}  // namespace
}  // namespace podium::annotate
