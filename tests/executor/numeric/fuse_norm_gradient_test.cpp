#include "executor/numeric/fuse_norm_gradient.h"

#include "executor/kernels/tools/kernel.h"
#include "ir/gradients/differentiate.h"
#include "ir/passes/optimize.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::ops_of;
using testing::Sketch;

// Outputs: the gradients of the first three inputs, X, scale and bias, of an op, weighted by numbers.
ir::Graph gradients_of(Sketch& s, std::string_view op, const std::vector<ValueId>& inputs,
                       std::vector<ir::Attribute> attributes) {
  const ValueId flow = s.input(s.graph[inputs[0]].type.dims);
  const ValueId weighted = s.op("Mul", {s.op(op, inputs, std::move(attributes)), flow});
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(s.graph, options);
  for (const ValueId gradient : differentiate(s.graph, weighted, std::span(inputs).first(3)))
    s.output(gradient);
  ir::optimize(s.graph, options);
  return std::move(s.graph);
}

ir::Graph gradients_of_batch_norm(const ir::Dims& x) {
  Sketch s;
  const ir::Dims channels{x[1]};
  const ValueId variance = s.input(channels);
  const std::vector<ValueId> inputs{s.input(x), s.input(channels), s.input(channels), s.input(channels),
                                    variance};
  return gradients_of(s, "BatchNormalization", inputs, {{"training_mode", std::int64_t{1}}});
}

ir::Graph gradients_of_layer_norm(const ir::Dims& x, std::int64_t axis) {
  Sketch s;
  const ir::Dims columns(x.begin() + axis, x.end());
  const std::vector<ValueId> inputs{s.input(x), s.input(columns), s.input(columns)};
  return gradients_of(s, "LayerNormalization", inputs, {{"axis", axis}});
}

void expect_one_op(ir::Graph graph, std::string_view op) {
  EXPECT_TRUE(fuse_norm_gradient(graph));
  const std::string ops = ops_of(graph);
  EXPECT_NE(ops.find(op), std::string::npos) << ops;
  for (const char* gone : {" = ReduceMean(", " = ReduceSum(", " = Sqrt(", " = Sub(", " = Mul("})
    EXPECT_EQ(ops.find(gone), std::string::npos) << gone << " in\n" << ops;
}

TEST(FuseNormGradient, MakesOneOpOfIt) {
  expect_one_op(gradients_of_batch_norm({2, 3, 4, 5}), "= podium.BatchNormalizationGradient(");
  expect_one_op(gradients_of_layer_norm({2, 3, 5}, 2), "= podium.LayerNormalizationGradient(");
  expect_one_op(gradients_of_layer_norm({2, 3, 5}, 1), "= podium.LayerNormalizationGradient(");
}

TEST(FuseNormGradient, GivesTheSameNumbers) {
  for (const ir::Dims& x : {ir::Dims{2, 3, 4, 5}, {16, 5}, {1, 7, 100}, {3, 2, 2, 3, 4}, {5, 1, 9, 1}})
    testing::expect_same_when_fused(gradients_of_batch_norm(x));
  for (const ir::Dims& x : {ir::Dims{2, 3, 40}, {16, 5}, {1, 7, 100}, {9, 30, 17}, {5, 1, 9, 3}}) {
    for (std::int64_t axis = 1; axis < std::ssize(x); ++axis)
      testing::expect_same_when_fused(gradients_of_layer_norm(x, axis));
  }
}

TEST(FuseNormGradient, TakesNoSumsThatNobodyAsksFor) {
  Sketch s;
  const std::vector<ValueId> inputs{s.input({4, 6}), s.weight({6}), s.weight({6})};
  const ValueId y = s.op("LayerNormalization", inputs, {{"axis", std::int64_t{1}}});
  const ValueId weighted = s.op("Mul", {y, s.input({4, 6})});
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(s.graph, options);
  s.output(differentiate(s.graph, weighted, std::span(inputs).first(1))[0]);
  ir::optimize(s.graph, options);
  testing::expect_same_when_fused(s.graph);
  expect_one_op(std::move(s.graph), "= podium.LayerNormalizationGradient(");
}

TEST(FuseNormGradient, LeavesSumsOverOtherAxesAlone) {
  Sketch s;
  const ValueId x = s.input({2, 3, 4});
  const ValueId mean = s.op("ReduceMean", {x, s.ints({1, 2})});
  s.output(s.op("Mul", {s.op("Sub", {x, mean}), s.input({2, 3, 4})}));
  EXPECT_FALSE(fuse_norm_gradient(s.graph));
}

}  // namespace
}  // namespace podium::numeric
