#include "executor/numeric/fold_pad.h"

#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

// A Conv of 3 x 3 behind a Pad that is told these things.
Sketch padded(const std::vector<std::int64_t>& pads, std::vector<ir::Attribute> of_pad = {},
              std::vector<ir::Attribute> of_conv = {}, float number = 0) {
  Sketch s;
  const ValueId x = s.op("Pad", {s.input({1, 4, 6, 7}), s.ints(pads), s.number(number)}, std::move(of_pad));
  const std::int64_t channels = s.graph[x].type.dims[1];
  s.output(s.op("Conv", {x, s.weight({5, channels, 3, 3})}, std::move(of_conv)));
  return s;
}

bool is_folded(Sketch s) {
  expect_same_when_fused(s.graph);
  return fold_pad(s.graph);
}

TEST(FoldPad, AddsZerosToThePaddingOfAConvolution) {
  Sketch s =
      padded({0, 0, 0, 1, 0, 0, 2, 3}, {}, {{"pads", IntList{1, 0, 0, 1}}, {"strides", IntList{2, 2}}});
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fold_pad(s.graph));
  ASSERT_EQ(s.graph.ops.size(), 1U) << ops_of(s.graph);
  EXPECT_EQ(ir::attribute<IntList>(s.graph.ops[0], "pads"), (IntList{1, 1, 2, 4}));
}

TEST(FoldPad, ReadsAxesAndCountsNoPaddingOfAValidConvolution) {
  Sketch s;
  const ValueId x = s.op("Pad", {s.input({1, 4, 6, 7}), s.ints({2, 1}), ir::kNoValue, s.ints({-1})});
  s.output(s.op("Conv", {x, s.weight({5, 4, 3, 3})}, {{"auto_pad", std::string("VALID")}}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fold_pad(s.graph));
  EXPECT_EQ(ir::attribute<IntList>(s.graph.ops[0], "pads"), (IntList{0, 2, 0, 1}));
}

TEST(FoldPad, LeavesOtherPaddingAlone) {
  EXPECT_TRUE(is_folded(padded({0, 0, 1, 1, 0, 0, 1, 1})));
  EXPECT_FALSE(is_folded(padded({0, 0, 1, 1, 0, 0, 1, 1}, {}, {}, 0.5F)));
  EXPECT_FALSE(is_folded(padded({0, 0, 1, 1, 0, 0, 1, 1}, {{"mode", std::string("reflect")}})));
  EXPECT_FALSE(is_folded(padded({0, 0, -1, 1, 0, 0, 1, 1})));
  EXPECT_FALSE(is_folded(padded({0, 1, 1, 1, 0, 0, 1, 1})));
  EXPECT_FALSE(is_folded(padded({0, 0, 1, 1, 0, 0, 1, 1}, {}, {{"auto_pad", std::string("SAME_UPPER")}})));
}

TEST(FoldPad, LeavesAPadAloneThatOthersRead) {
  Sketch s;
  const ValueId x = s.op("Pad", {s.input({1, 4, 6, 7}), s.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  s.output(s.op("Conv", {x, s.weight({5, 4, 3, 3})}));
  s.output(s.op("Neg", {x}));
  EXPECT_FALSE(is_folded(std::move(s)));
}

}  // namespace
}  // namespace podium::numeric
