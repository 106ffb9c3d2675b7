#include "executor/numeric/fold_batch_norm.h"

#include "executor/kernels/tools/kernel.h"
#include "ir/gradients/differentiate.h"
#include "ir/passes/optimize.h"
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

// Outputs: the gradients of x, scale and bias of a normalisation that trains, weighted by numbers.
ir::Graph gradients_of_training(const ir::Dims& x) {
  Sketch s;
  const ir::Dims channels{x[1]};
  const ValueId variance = s.input(channels);
  std::vector<ValueId> inputs{s.input(x), s.input(channels), s.input(channels), s.input(channels), variance};
  const ValueId flow = s.input(x);
  const ValueId y = s.op("BatchNormalization", inputs, {{"training_mode", std::int64_t{1}}});
  const ValueId weighted = s.op("Mul", {y, flow});
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(s.graph, options);
  for (const ValueId gradient : differentiate(s.graph, weighted, std::span(inputs).first(3)))
    s.output(gradient);
  ir::optimize(s.graph, options);
  return std::move(s.graph);
}

TEST(FuseBatchNormGradient, MakesOneOpOfIt) {
  ir::Graph graph = gradients_of_training({2, 3, 4, 5});
  EXPECT_TRUE(fuse_batch_norm_gradient(graph));
  const std::string ops = ops_of(graph);
  EXPECT_NE(ops.find("= podium.BatchNormalizationGradient("), std::string::npos) << ops;
  for (const char* gone : {" = ReduceMean(", " = ReduceSum(", " = Sqrt(", " = Sub(", " = Mul("})
    EXPECT_EQ(ops.find(gone), std::string::npos) << gone << " in\n" << ops;
}

TEST(FuseBatchNormGradient, GivesTheSameNumbers) {
  for (const ir::Dims& x : {ir::Dims{2, 3, 4, 5}, {16, 5}, {1, 7, 100}, {3, 2, 2, 3, 4}, {5, 1, 9, 1}})
    testing::expect_same_when_fused(gradients_of_training(x));
}

TEST(FuseBatchNormGradient, LeavesSumsOverOtherAxesAlone) {
  Sketch s;
  const ValueId x = s.input({2, 3, 4});
  const ValueId mean = s.op("ReduceMean", {x, s.ints({1, 2})});
  s.output(s.op("Mul", {s.op("Sub", {x, mean}), s.input({2, 3, 4})}));
  EXPECT_FALSE(fuse_batch_norm_gradient(s.graph));
}

}  // namespace
}  // namespace podium::numeric
