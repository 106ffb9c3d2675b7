#include "executor/numeric/fold_batch_norm.h"

#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::ops_of;
using testing::Sketch;

std::vector<ValueId> with_statistics(Sketch& s, ValueId x, std::int64_t channels) {
  const ValueId variance = s.graph.add_constant("variance", ir::Tensor(ir::DataType::Float, {channels}));
  for (float& value : s.graph[variance].constant->values<float>()) value = 0.5F;
  return {x, s.weight({channels}), s.weight({channels}), s.weight({channels}), variance};
}

TEST(FoldBatchNorm, GoesIntoWeightsAndBias) {
  for (const bool biased : {false, true}) {
    Sketch s;
    std::vector<ValueId> inputs{s.input({2, 3, 5, 5}), s.weight({4, 3, 3, 3})};
    if (biased) inputs.push_back(s.weight({4}));
    const ValueId y = s.op("Conv", inputs);
    s.output(s.op("BatchNormalization", with_statistics(s, y, 4)));
    testing::expect_same_when_fused(s.graph);
    EXPECT_TRUE(fold_batch_norm(s.graph));
    EXPECT_EQ(ops_of(s.graph), "BatchNormalization:1 = Conv(x0, folded_weights:2, folded_bias:3)\n");
  }
}

TEST(FoldBatchNorm, StaysWhenTheConvolutionIsReadElsewhere) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({1, 3, 5, 5}), s.weight({4, 3, 3, 3})});
  s.output(s.op("BatchNormalization", with_statistics(s, y, 4)));
  s.output(y);
  EXPECT_FALSE(fold_batch_norm(s.graph));
  testing::expect_same_when_fused(s.graph);
}

}  // namespace
}  // namespace podium::numeric
