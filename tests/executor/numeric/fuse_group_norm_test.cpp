#include "executor/numeric/fuse_group_norm.h"

#include "executor/numeric/channels_last.h"
#include "executor/numeric/fuse_post_ops.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

// As exporters write it, over 8 groups of 4 channels.
ValueId grouped(Sketch& s, ValueId x, const Dims& joined = {2, 8, -1}, const Dims& parted = {2, 32, 6, 5}) {
  const ValueId y =
      s.op("InstanceNormalization", {s.op("Reshape", {x, s.ints(joined)}), s.weight({8}), s.weight({8})});
  return s.op("Reshape", {y, s.ints(parted)});
}

TEST(FuseGroupNorm, TakesInTheScaleAndTheBiasOfChannels) {
  for (const Dims& shape : {Dims{32, 1, 1}, Dims{1, 32, 1, 1}}) {
    Sketch s;
    const ValueId y = grouped(s, s.input({2, 32, 6, 5}));
    s.output(s.op("Add", {s.weight(shape), s.op("Mul", {y, s.weight(shape)})}));
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_group_norm(s.graph));
    EXPECT_EQ(s.graph.ops.size(), 1U) << ops_of(s.graph);
    EXPECT_NE(ops_of(s.graph).find(" = GroupNormalization(x0, "), std::string::npos) << ops_of(s.graph);
    EXPECT_NE(ops_of(s.graph).find("num_groups=8"), std::string::npos) << ops_of(s.graph);
  }
}

TEST(FuseGroupNorm, DoesWithoutEither) {
  for (const std::string behind : {"", "Mul", "Add"}) {
    Sketch s;
    ValueId y = grouped(s, s.input({2, 32, 6, 5}));
    if (!behind.empty()) y = s.op(behind, {y, s.weight({32, 1, 1})});
    s.output(y);
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_group_norm(s.graph));
    EXPECT_EQ(s.graph.ops.size(), 1U) << ops_of(s.graph);
  }
}

TEST(FuseGroupNorm, LeavesNumbersOfColumnsBehindIt) {
  Sketch s;
  s.output(s.op("Mul", {grouped(s, s.input({2, 32, 6, 5})), s.weight({1, 5})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_group_norm(s.graph));
  EXPECT_EQ(s.graph.ops.size(), 2U) << ops_of(s.graph);
}

TEST(FuseGroupNorm, LeavesOtherShapesAlone) {
  Sketch images;  // channels of both images meet in a group
  images.output(grouped(images, images.input({2, 32, 6, 5}), {1, 8, -1}));
  Sketch turned;
  turned.output(grouped(turned, turned.input({2, 32, 6, 5}), {2, 8, -1}, {2, 32, 5, 6}));
  Sketch shown;
  const ValueId y = shown.op("InstanceNormalization",
                             {shown.op("Reshape", {shown.input({2, 32, 6, 5}), shown.ints({2, 8, -1})}),
                              shown.weight({8}), shown.weight({8})});
  shown.output(y);
  shown.output(shown.op("Reshape", {y, shown.ints({2, 32, 6, 5})}));
  for (Sketch* s : {&images, &turned, &shown}) EXPECT_FALSE(fuse_group_norm(s->graph));
}

// Behind a convolution, of one channel a group too; an activation joins it.
TEST(FuseGroupNorm, StaysChannelsLast) {
  for (const std::string activation : {"", "Relu", "Swish", "Elu"}) {
    for (const bool is_of_groups : {false, true}) {
      Sketch s;
      ValueId y = s.op("Conv", {s.input({2, 3, 8, 7}), s.weight({32, 3, 3, 3})});
      y = is_of_groups ? s.op("Mul", {grouped(s, y), s.weight({32, 1, 1})})
                       : s.op("InstanceNormalization", {y, s.weight({32}), s.weight({32})});
      if (!activation.empty()) y = s.op(activation, {y});
      s.output(s.op("Conv", {y, s.weight({5, 32, 1, 1})}));
      expect_same_when_fused(s.graph);
      fuse_group_norm(s.graph);
      EXPECT_TRUE(channels_last(s.graph));
      fuse_post_ops(s.graph);
      const std::string ops = ops_of(s.graph);
      EXPECT_EQ(ops.find("ToChannelsFirst"), ops.rfind("ToChannelsFirst")) << ops;
      EXPECT_NE(ops.find(" = podium.GroupNormalization("), std::string::npos) << ops;
      EXPECT_EQ(s.graph.ops.size(), 5U) << ops;
    }
  }
}

// Several stretches of positions, and a mean that is large beside the deviation.
TEST(FuseGroupNorm, KeepsTheDigitsOfTheVarianceOfManyPositions) {
  Sketch s;
  ValueId y = s.op("Conv", {s.input({1, 3, 90, 90}), s.weight({64, 3, 3, 3})});
  y = s.op("Add", {y, s.number(300)});
  y = s.op("InstanceNormalization", {y, s.weight({64}), s.weight({64})});
  s.output(s.op("Conv", {y, s.weight({5, 64, 1, 1})}));
  expect_same_when_fused(s.graph, 1e-4);
}

}  // namespace
}  // namespace podium::numeric
