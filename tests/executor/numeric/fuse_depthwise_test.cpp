#include "executor/numeric/fuse_depthwise.h"

#include <algorithm>
#include <cstring>

#include "executor/numeric/channels_last.h"
#include "executor/numeric/fuse_post_ops.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

// The sizes of an inverted residual. What is handed on has 1.2 MB where the input has 96 rows.
struct Residual {
  std::int64_t images = 1;
  std::int64_t rows = 96;
  std::int64_t channels = 4;
  std::int64_t expanded = 32;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t pad = 1;
};

ValueId depthwise(Sketch& s, ValueId x, const Residual& of) {
  return s.op("Conv", {x, s.weight({of.expanded, 1, of.kernel, of.kernel}), s.weight({of.expanded})},
              {{"group", of.expanded},
               {"strides", IntList{of.stride, of.stride}},
               {"pads", IntList{of.pad, of.pad, of.pad, of.pad}}});
}

ValueId pointwise(Sketch& s, ValueId x, std::int64_t from, std::int64_t to) {
  return s.op("Conv", {x, s.weight({to, from, 1, 1}), s.weight({to})});
}

ValueId clipped(Sketch& s, ValueId x) { return s.op("Clip", {x, s.number(0), s.number(1.5F)}); }

Sketch residual(const Residual& of) {
  Sketch s;
  const ValueId x = s.input({of.images, of.channels, of.rows, 96});
  ValueId y = clipped(s, pointwise(s, x, of.channels, of.expanded));
  y = clipped(s, depthwise(s, y, of));
  y = pointwise(s, y, of.expanded, of.channels);
  s.output(of.stride == 1 && of.pad == 1 ? s.op("Add", {x, y}) : y);
  return s;
}

// As it is where fuse_depthwise is called.
ir::Graph in_the_engine(ir::Graph graph) {
  channels_last(graph, {});
  fuse_post_ops(graph);
  return graph;
}

int count(const ir::Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.ops, [&](const ir::Op& one) { return one.is(op, "podium"); }));
}

std::vector<ir::Tensor> run(const ir::Graph& graph) {
  std::vector<ir::Datum> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(testing::random_floats(graph[id].type.dims, 1));
  return testing::run_graph(graph, false, inputs);
}

TEST(FuseDepthwise, JoinsAnInvertedResidual) {
  ir::Graph graph = in_the_engine(residual({}).graph);
  EXPECT_TRUE(fuse_depthwise(graph));
  EXPECT_EQ(count(graph, "DepthwiseBlock"), 1);
  EXPECT_EQ(count(graph, "Convolution"), 0) << ops_of(graph);
}

TEST(FuseDepthwise, JoinsAStemAndLeavesTheConvolutionBehindThatHasOtherReaders) {
  Sketch s;
  ValueId y = s.op("Conv", {s.input({1, 3, 192, 192}), s.weight({32, 3, 3, 3})},
                   {{"strides", IntList{2, 2}}, {"pads", IntList{1, 1, 1, 1}}});
  y = depthwise(s, s.op("Relu", {y}), {});
  s.output(pointwise(s, y, 32, 8));
  s.output(pointwise(s, y, 32, 4));
  ir::Graph graph = in_the_engine(s.graph);
  EXPECT_TRUE(fuse_depthwise(graph));
  EXPECT_EQ(count(graph, "DepthwiseBlock"), 1);
  EXPECT_EQ(count(graph, "Convolution"), 2) << ops_of(graph);
  expect_same_when_fused(s.graph);
}

TEST(FuseDepthwise, LeavesWhatStaysInTheCacheAlone) {
  ir::Graph graph = in_the_engine(residual({.rows = 64}).graph);
  EXPECT_FALSE(fuse_depthwise(graph));
}

TEST(FuseDepthwise, LeavesAnImageOfOneLongRowAlone) {
  Sketch s;
  ValueId y = pointwise(s, s.input({1, 4, 1, 96 * 96}), 4, 32);
  y = s.op("Conv", {y, s.weight({32, 1, 1, 3})},
           {{"group", std::int64_t{32}}, {"pads", IntList{0, 1, 0, 1}}});
  s.output(pointwise(s, y, 32, 4));
  ir::Graph graph = in_the_engine(s.graph);
  EXPECT_FALSE(fuse_depthwise(graph)) << ops_of(graph);
}

TEST(FuseDepthwise, LeavesWindowsWithGapsAndOtherGroupsAlone) {
  const auto is_left = [](std::int64_t group, const IntList& dilations) {
    Sketch s;
    ValueId y = pointwise(s, s.input({1, 4, 100, 100}), 4, 32);
    y = s.op("Conv", {y, s.weight({32, 32 / group, 3, 3})}, {{"group", group}, {"dilations", dilations}});
    s.output(pointwise(s, y, 32, 4));
    ir::Graph graph = in_the_engine(s.graph);
    return !fuse_depthwise(graph);
  };
  EXPECT_FALSE(is_left(32, {1, 1}));
  EXPECT_TRUE(is_left(32, {2, 2}));
  EXPECT_TRUE(is_left(16, {1, 1}));
}

// Strips share rows of what is handed on, end in the padding, and leave a remainder.
TEST(FuseDepthwise, GivesTheBitsOfConvolutionsApart) {
  const std::vector<Residual> all{
      {},
      {.stride = 2},
      {.rows = 101, .stride = 2},
      {.images = 3, .rows = 95},
      {.rows = 97, .kernel = 5, .pad = 2},
      {.rows = 97, .kernel = 5, .stride = 3, .pad = 0},
      {.rows = 99, .channels = 24, .expanded = 40, .kernel = 2, .stride = 3, .pad = 1},
      {.rows = 7, .channels = 16, .expanded = 512}};
  for (const Residual& of : all) {
    const ir::Graph apart = in_the_engine(residual(of).graph);
    ir::Graph joined = apart;
    ASSERT_TRUE(fuse_depthwise(joined));
    const ir::Tensor wanted = run(apart)[0];
    const ir::Tensor found = run(joined)[0];
    ASSERT_EQ(found.type_and_dims(), wanted.type_and_dims());
    EXPECT_EQ(std::memcmp(found.raw(), wanted.raw(), wanted.bytes()), 0)
        << of.rows << " rows, kernel " << of.kernel << ", stride " << of.stride;
  }
}

TEST(FuseDepthwise, TakesAResidualThatIsNotItsInput) {
  Sketch s;
  ValueId y = pointwise(s, s.input({2, 4, 96, 96}), 4, 32);
  y = pointwise(s, depthwise(s, y, {}), 32, 4);
  s.output(s.op("Relu", {s.op("Add", {y, s.input({2, 4, 96, 96})})}));
  expect_same_when_fused(s.graph);
}

}  // namespace
}  // namespace podium::numeric
