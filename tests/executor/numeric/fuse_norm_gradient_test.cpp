#include "executor/numeric/fuse_norm_gradient.h"

#include <algorithm>

#include "executor/kernels/tools/kernel.h"
#include "executor/numeric/prepared_block.h"
#include "ir/gradients/differentiate.h"
#include "ir/passes/optimize.h"
#include "tests/support/fusing.h"
#include "tests/support/graph_text.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::ops_of;
using testing::Sketch;

// Outputs: the gradients of y, which is like the first of `inputs` and weighted by numbers.
ir::Graph gradients_by(Sketch& s, ValueId y, std::span<const ValueId> inputs) {
  const ValueId weighted = s.op("Mul", {y, s.input(s.graph[inputs[0]].type.dims)});
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::infer(s.graph, options);
  for (const ValueId gradient : differentiate(s.graph, weighted, inputs)) s.output(gradient);
  ir::optimize(s.graph, options);
  return std::move(s.graph);
}

// Outputs: the gradients of the first three inputs, X, scale and bias, of an op.
ir::Graph gradients_of(Sketch& s, std::string_view op, const std::vector<ValueId>& inputs,
                       std::vector<ir::Attribute> attributes) {
  return gradients_by(s, s.op(op, inputs, std::move(attributes)), std::span(inputs).first(3));
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

ir::Graph gradients_of_instance_norm(const ir::Dims& x) {
  Sketch s;
  const std::vector<ValueId> inputs{s.input(x), s.input({x[1]}), s.input({x[1]})};
  return gradients_of(s, "InstanceNormalization", inputs, {});
}

ir::Graph gradients_of_group_norm(const ir::Dims& x, std::int64_t groups) {
  Sketch s;
  const std::vector<ValueId> inputs{s.input(x), s.input({x[1]}), s.input({x[1]})};
  return gradients_of(s, "GroupNormalization", inputs, {{"num_groups", groups}});
}

ValueId filled_vector(Sketch& s, std::int64_t count, float value) {
  ir::Tensor tensor(ir::DataType::Float, {count});
  std::ranges::fill(tensor.values<float>(), value);
  return s.builder.constant(std::move(tensor), "filled");
}

// InstanceNormalization of groups of channels, with a scale and a bias of these dims behind it.
ir::Graph gradients_of_grouped(const ir::Dims& x, std::int64_t groups, const ir::Dims& scale) {
  Sketch s;
  const std::vector<ValueId> inputs{s.input(x), s.input(scale), s.input(scale)};
  const ValueId joined = s.op("Reshape", {inputs[0], s.ints({x[0], groups, -1})});
  const ValueId y =
      s.op("InstanceNormalization", {joined, filled_vector(s, groups, 1), filled_vector(s, groups, 0)});
  const ValueId scaled = s.op("Mul", {s.op("Reshape", {y, s.ints(x)}), inputs[1]});
  return gradients_by(s, s.op("Add", {scaled, inputs[2]}), inputs);
}

// As PyTorch exports a GroupNorm.
ir::Graph gradients_of_exported(const ir::Dims& x, std::int64_t groups) {
  ir::Dims channels(x.size() - 1, 1);
  channels[0] = x[1];
  return gradients_of_grouped(x, groups, channels);
}

ir::Graph gradients_of_plain_layer_norm(const ir::Dims& x, std::int64_t axis) {
  Sketch s;
  const ValueId input = s.input(x);
  const ValueId y = s.op("LayerNormalization", {input, filled_vector(s, x.back(), 1)}, {{"axis", axis}});
  return gradients_by(s, y, {&input, 1});
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
  constexpr std::string_view kGroups = "= podium.GroupNormalizationGradient(";
  expect_one_op(gradients_of_instance_norm({2, 3, 4, 5}), kGroups);
  expect_one_op(gradients_of_instance_norm({2, 3, 2}), kGroups);
  expect_one_op(gradients_of_group_norm({2, 6, 4, 5}, 2), kGroups);
  expect_one_op(gradients_of_exported({2, 6, 4, 5}, 3), kGroups);
  expect_one_op(gradients_of_grouped({2, 6, 4, 5}, 1, {1, 6, 1, 1}), kGroups);
  expect_one_op(gradients_of_plain_layer_norm({2, 3, 5}, 2), kGroups);
}

// The sums come before dX here, from what the forward op has made.
TEST(FuseNormGradient, PutsTheOpOfGroupsWhereTheFirstSumWas) {
  ir::Graph graph = testing::graph_of(
      R"(g (float[2,6,4,5] x, float[6,1,1] scale, float[2,6,4,5] flow) =>
           (float[2,6,4,5] dx, float[6] dscale, float[6] dbias)
      <int64[3] groups = {2, 2, 60}, int64[4] images = {2, 6, 4, 5}, int64[1] six = {6}, int64[1] last = {2},
       int64[3] others = {0, 2, 3}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, float one = {1},
       float epsilon = {0.00001}> {
        joined = Reshape(x, groups)
        normed = InstanceNormalization(joined, ones, zeros)
        parted = Reshape(normed, images)
        sum = ReduceSum(flow, others)
        dbias = Reshape(sum, six)
        into = Mul(flow, scale)
        product = Mul(flow, parted)
        along = ReduceSum(product, others)
        dscale = Reshape(along, six)
        g = Reshape(into, groups)
        mean = ReduceMean(joined, last)
        moved = Sub(joined, mean)
        squares = Mul(moved, moved)
        variance = ReduceMean(squares, last)
        safe = Add(variance, epsilon)
        deviation = Sqrt(safe)
        inverse = Div(one, deviation)
        y = Mul(moved, inverse)
        gy = Mul(g, y)
        slope = ReduceMean(gy, last)
        back = Mul(y, slope)
        mean_g = ReduceMean(g, last)
        centred = Sub(g, mean_g)
        rest = Sub(centred, back)
        grouped_dx = Mul(inverse, rest)
        dx = Reshape(grouped_dx, images)
      })");
  testing::expect_same_when_fused(graph);
  EXPECT_TRUE(fuse_norm_gradient(graph));
  EXPECT_EQ(
      ops_of(graph),
      "dx, along, sum = podium.GroupNormalizationGradient(x, flow, scale) {stretches=4, epsilon=1e-05}\n"
      "dbias = Reshape(sum, six)\n"
      "dscale = Reshape(along, six)\n");
}

// One scale for each row of an image, and channels of one element.
TEST(FuseNormGradient, LeavesAScaleThatIsNotOfChannels) {
  const std::string found = "podium.GroupNormalizationGradient(Reshape:";
  for (ir::Graph graph :
       {gradients_of_grouped({2, 6, 4, 5}, 2, {4, 1}), gradients_of_exported({3, 4, 1, 1}, 2)}) {
    testing::expect_same_when_fused(graph);
    EXPECT_TRUE(fuse_norm_gradient(graph));
    EXPECT_NE(ops_of(graph).find(", _) {stretches="), std::string::npos) << ops_of(graph);
    EXPECT_NE(ops_of(graph).find(found), std::string::npos) << ops_of(graph);
  }
}

TEST(FuseNormGradient, GivesTheSameNumbers) {
  for (const ir::Dims& x : {ir::Dims{2, 3, 4, 5}, {16, 5}, {1, 7, 100}, {3, 2, 2, 3, 4}, {5, 1, 9, 1}})
    testing::expect_same_when_fused(gradients_of_batch_norm(x));
  for (const ir::Dims& x : {ir::Dims{2, 3, 40}, {16, 5}, {1, 7, 100}, {9, 30, 17}, {5, 1, 9, 3}}) {
    for (std::int64_t axis = 1; axis < std::ssize(x); ++axis)
      testing::expect_same_when_fused(gradients_of_layer_norm(x, axis));
    for (std::int64_t axis = 1; axis < std::ssize(x); ++axis)
      testing::expect_same_when_fused(gradients_of_plain_layer_norm(x, axis));
  }
  for (const ir::Dims& x : {ir::Dims{2, 3, 4, 5}, {1, 7, 100}, {3, 2, 2, 3, 4}, {5, 1, 9, 1}, {4, 2, 3}})
    testing::expect_same_when_fused(gradients_of_instance_norm(x));
  for (const ir::Dims& x :
       {ir::Dims{2, 6, 4, 5}, {1, 12, 100}, {3, 6, 2, 3, 4}, {5, 6, 9, 1}, {4, 6, 3}, {9, 6}}) {
    for (const std::int64_t groups : {1, 2, 6}) {
      if (x.size() > 2) testing::expect_same_when_fused(gradients_of_group_norm(x, groups));
      testing::expect_same_when_fused(gradients_of_exported(x, groups));
    }
  }
}

TEST(FuseNormGradient, ChangesNoBitOfGroupsWithMoreThreads) {
  const ir::Graph graph = gradients_of_exported({5, 12, 40, 41}, 3);
  std::vector<ir::Datum> inputs;
  std::vector<const ir::Datum*> pointers;
  for (const ValueId id : graph.inputs)
    inputs.emplace_back(testing::random_floats(graph[id].type.dims, static_cast<int>(inputs.size())));
  for (const ir::Datum& input : inputs) pointers.push_back(&input);
  PreparedBlock alone(graph, {.threads = 1});
  const auto expected = alone.run(pointers);
  for (const int threads : {2, 3}) {
    PreparedBlock block(graph, {.threads = threads});
    const auto found = block.run(pointers);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(identical(found[i]->tensor, expected[i]->tensor)) << i << " with " << threads;
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
