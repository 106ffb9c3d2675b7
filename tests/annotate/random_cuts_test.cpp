// Graphs of a few ops, cut at random as their nodes say: all devices' ops, run on one processor, give the
// numbers of the whole graph, forward and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <ranges>

#include "annotate/partition.h"
#include "ir/gradients/differentiate.h"
#include "tests/support/cut_graph.h"

namespace podium::annotate {
namespace {

using ir::Datum;
using testing::axis;
using testing::cut_graph;
using ::testing::FloatNear;
using testing::graph_of;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::Said;
using testing::tensor;

// Graphs of one op or two, whose inputs are 'a' and 'b'.
const char* const kGraphs[] = {
    "agraph (float[3,4,5] a, float[4,1] b) => (float[3,4,5] y) { y = Mul(a, b) }",
    "agraph (float[2,5,4] a, float[4,6] b) => (float[2,5,6] y) { y = MatMul(a, b) }",
    "agraph (float[3,5,4] a, float[3,4,6] b) => (float[3,5,6] y) { y = MatMul(a, b) }",
    "agraph (float[4,5] a, float[6,4] b) => (float[5,6] y) { y = Gemm<transA=1, transB=1>(a, b) }",
    "agraph (float[4,6] a, float[6,5] b) => (float[4,5] y) <float[5] c = {1, 2, 3, 4, 5}> { y = Gemm(a, b, c) }",
    "agraph (float[4,3,5] a, float[3,6] b) => (float[5,4,6] y) { y = Einsum<equation=\"abc,bd->cad\">(a, b) }",
    "agraph (float[4,6] a, float[6] b) => (float[4] y) <int64[1] i = {1}> { p = Mul(a, b) y = "
    "ReduceSum<keepdims=0>(p, i) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,1] y) <int64[1] i = {1}> { p = Add(a, b) y = ReduceMax(p, i) "
    "}",
    "agraph (float[4,6] a, float[6] b) => (float[4,6] y) { p = Add(a, b) y = Softmax(p) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,6] y) <float[6] s = {1, 2, 3, 4, 5, 6}> "
    "{ y = LayerNormalization(a, b, s) }",
    "agraph (float[4,6] a, float[6] b) => (float[6,4] y) { p = Add(a, b) y = Transpose(p) }",
    "agraph (float[4,6] a, float[6] b) => (float[2,2,6] y) <int64[3] s = {2, 2, 6}> { p = Add(a, b) y = "
    "Reshape(p, s) }",
    "agraph (float[2,6,4] a, float[4] b) => (float[6,2,4] y) <int64[4] s = {2, 3, 2, 4}, int64[3] t = {6, 2, 4}> "
    "{ p = Add(a, b) q = Reshape(p, s) r = Neg(q) y = Reshape(r, t) }",
    "agraph (float[4,1] a, float[6] b) => (float[4,6] y) <int64[2] s = {4, 6}> { p = Expand(a, s) y = Add(p, b) }",
    "agraph (float[4,6] a, float[4,2] b) => (float[4,8] y) { y = Concat<axis=1>(a, b) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,3] y) { p = Add(a, b) q, r = Split<axis=1, num_outputs=2>(p) "
    "y = Sub(q, r) }",
    "agraph (float[4,6] a, float[4] b) => (float[3,4] y) <int64[1] f = {1}, int64[1] t = {4}, int64[1] x = {1}> "
    "{ p = Slice(a, f, t, x) q = Transpose(p) y = Add(q, b) }",
    "agraph (float[4,6] a, float[6] b) => (float[2,3,6] y) <int64[2,3] i = {0, 3, 1, 2, 2, 0}> "
    "{ p = Gather(a, i) y = Add(p, b) }",
    "agraph (float[2,4,5,5] a, float[6,4,3,3] b) => (float[2,6,5,5] y) { y = Conv<pads=[1,1,1,1]>(a, b) }",
    "agraph (float[2,4,4,4] a, float[4,3,2,2] b) => (float[2,3,8,8] y) { y = ConvTranspose<strides=[2,2]>(a, b) "
    "}",
    "agraph (float[2,4,6,6] a, float[4,1,1] b) => (float[2,4,3,3] y) { p = Add(a, b) y = "
    "MaxPool<kernel_shape=[2,2], strides=[2,2]>(p) }",
    "agraph (float[2,4,11,6] a, float[4,2,3,2] b) => (float[2,4,6,5] y) { y = Conv<pads=[1,0,1,0], "
    "strides=[2,1], group=2>(a, b) }",
    "agraph (float[2,2,9,7] a, float[3,2,3,3] b) => (float[2,3,9,3] y) { y = Conv<auto_pad=\"SAME_LOWER\", "
    "dilations=[2,1], strides=[1,3]>(a, b) }",
    "agraph (float[1,2,12] a, float[3,2,4] b) => (float[1,3,12] y) { y = Conv<pads=[1,2]>(a, b) }",
    "agraph (float[1,2,7] a, float[3,2,1] b) => (float[1,3,4] y) { y = Conv<strides=[2]>(a, b) }",
    "agraph (float[1,2,5,4,6] a, float[2,2,2,3,3] b) => (float[1,2,4,4,3] y) { y = Conv<pads=[0,1,1,0,1,1], "
    "strides=[1,1,2]>(a, b) }",
    "agraph (float[2,4,4,5] a, float[4,3,3,2] b) => (float[2,3,9,8] y) { y = ConvTranspose<strides=[2,2], "
    "pads=[0,1,0,1], output_padding=[0,0]>(a, b) }",
    "agraph (float[1,2,4] a, float[2,3,1] b) => (float[1,3,8] y) { y = ConvTranspose<strides=[2], "
    "output_padding=[1]>(a, b) }",
    "agraph (float[2,4,9] a, float[4,1] b) => (float[2,4,9] y) { p = Add(a, b) y = MaxPool<kernel_shape=[3], "
    "pads=[1,1]>(p) }",
    "agraph (float[2,4,9] a, float[4,1] b) => (float[2,4,5] y) { p = Add(a, b) y = MaxPool<kernel_shape=[2], "
    "strides=[2], ceil_mode=1>(p) }",
    "agraph (float[1,2,11,6] a, float[6] b) => (float[1,2,6,6] y) { p = Add(a, b) y = "
    "AveragePool<kernel_shape=[3,3], strides=[2,1], pads=[1,1,0,1], ceil_mode=1, count_include_pad=1>(p) }",
    "agraph (float[1,2,11,6] a, float[6] b) => (float[1,2,6,6] y) { p = Add(a, b) y = "
    "AveragePool<kernel_shape=[3,3], strides=[2,1], pads=[1,1,1,1]>(p) }",
    "agraph (float[1,2,11,6] a, float[6] b) => (float[1,2,4,3] y) { p = Add(a, b) y = "
    "LpPool<kernel_shape=[3,2], strides=[3,2], auto_pad=\"SAME_UPPER\">(p) }",
    "agraph (float[2,2,5,3] a, float[5,1] b) => (float[2,2,1,1] y) { p = Add(a, b) y = GlobalAveragePool(p) }",
    "agraph (float[2,2,5,3] a, float[5,1] b) => (float[2,2,1,1] y) { p = Add(a, b) y = GlobalMaxPool(p) }",
    "agraph (float[2,3,4] a, float[4] b) => (float[2,3,4] y) <float[3] s = {1, 2, 3}> { p = Add(a, b) "
    "q, m, v = BatchNormalization<training_mode=1>(p, s, s, s, s) y = Mul(q, a) }",
    "agraph (float[6,4] a, float[4] b) => (float y) <int64[6] l = {0, 3, 1, 2, 2, 0}> { p = Add(a, b) y = "
    "SoftmaxCrossEntropyLoss(p, l) }",
    "agraph (float[2,4,3,2] a, float[2,2,5,2] b) => (float[2,4,3,2] y) { y = Attention(a, b, b) }",
    "agraph (float[2,3,8] a, float[2,5,4] b) => (float[2,3,8] y) <float[1,1,3,5] m = {0, 1, 2, 3, 4, 1, 0, 2, 1, "
    "1, 3, 2, 1, 0, 1}> { y = Attention<q_num_heads=4, kv_num_heads=2>(a, b, b, m) }",
    "agraph (float[6,4] a, float[4] b) => (float y) <int64[6] l = {0, 3, 1, 9, 2, 0}, float[4] w = {1, 2, 3, 4}> "
    "{ p = Add(a, b) y = SoftmaxCrossEntropyLoss<ignore_index=9>(p, l, w) }",
    "agraph (float[2,4,5,3] a, float[3] b) => (float[2,4,5,3] y) <float[4] s = {1, 2, 3, 4}> { p = Add(a, b) q = "
    "InstanceNormalization(p, s, s) y = Mul(q, a) }",
    "agraph (float[2,4,5,3] a, float[3] b) => (float[2,4,5,3] y) <float[4] s = {1, 2, 3, 4}> { p = Add(a, b) q = "
    "GroupNormalization<num_groups=2>(p, s, s) y = Mul(q, a) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,6] y) <float[6] s = {1, 2, 3, 4, 5, 6}> { p = Add(a, b) y = "
    "RMSNormalization(p, s) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,6] y) { p = Add(a, b) y = LpNormalization<axis=0>(p) }",
    "agraph (float[2,4,5,3] a, float[3] b) => (float[2,4,5,3] y) { p = Add(a, b) y = "
    "MeanVarianceNormalization(p) }",
    "agraph (float[2,4,5,3] a, float[3] b) => (float[2,4,5,3] y) { p = Add(a, b) y = LRN<size=3>(p) }",
    "agraph (float[4,6] a, float[6] b) => (float[4] y) <int64[1] i = {1}> { p = Add(a, b) y = "
    "ReduceMin<keepdims=0>(p, i) }",
    "agraph (float[4,6] a, float[6] b) => (float[1,6] y) <int64[1] i = {0}> { p = Add(a, b) y = ReduceL2(p, i) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,1] y) <int64[1] i = {1}> { p = Add(a, b) q = Exp(p) y = "
    "ReduceLogSum(q, i) }",
    "agraph (float[4,6] a, float[6] b) => (float y) { p = Add(a, b) y = ReduceLogSumExp<keepdims=0>(p) }",
    "agraph (float[2,2,5,3] a, float[5,1] b) => (float[2,2,1,1] y) { p = Add(a, b) y = GlobalLpPool(p) }",
    "agraph (float[2,6,5] a, float[6,2,3] b) => (float[2,6,5] y) <float[6] c = {1, 2, 3, 4, 5, 6}> { y = "
    "Conv<pads=[1,1], group=3>(a, b, c) }",
    "agraph (float[2,6,5] a, float[6,4,3] b) => (float[2,4,5] y) <float[4] c = {1, 2, 3, 4}> { y = "
    "ConvTranspose<pads=[1,1]>(a, b, c) }",
    "agraph (float[2,4,3,3] a, float[3] b) => (float[2,1,6,6] y) { p = Add(a, b) y = DepthToSpace<blocksize=2>(p) "
    "}",
    "agraph (float[2,8,2,3] a, float[3] b) => (float[2,2,4,6] y) { p = Add(a, b) y = DepthToSpace<blocksize=2, "
    "mode=\"CRD\">(p) }",
    "agraph (float[1,2,4,6] a, float[6] b) => (float[1,8,2,3] y) { p = Add(a, b) y = SpaceToDepth<blocksize=2>(p) "
    "}",
    "agraph (float[4,6] a, float[6] b) => (float[4,12] y) <int64[2] r = {1, 2}> { p = Add(a, b) y = Tile(p, r) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,6] y) <int64 i = {1}> { p = Add(a, b) y = CumSum(p, i) }",
    "agraph (float[4,6,2] a, float[2] b) => (float[4,3,2] y) <int64[4,3,1] i = {0, 1, 2, 5, 4, 3, 1, 1, 1, 2, 0, "
    "2}> { p = Add(a, b) y = GatherND<batch_dims=1>(p, i) }",
    "agraph (float[4,6,2] a, float[3,2] b) => (float[4,6,2] y) <int64[3,2] i = {0, 1, 2, 5, 3, 3}> { p = Neg(a) y "
    "= ScatterND(p, i, b) }",
    "agraph (float[4,3,2] a, float[3,1] b) => (float[4,3,2] y) <int64[3] l = {4, 2, 1}> { p = Add(a, b) y = "
    "ReverseSequence(p, l) }",
};

// Without a gradient that could be compared.
const char* const kForwardGraphs[] = {
    "agraph (float[4,6] a, float[6] b) => (float[4] y) { p = Add(a, b) i = ArgMax<axis=1, keepdims=0>(p) y = "
    "Cast<to=1>(i) }",
    "agraph (float[4,6] a, float[6] b) => (float[1,6] y) { p = Floor(a) i = ArgMin<select_last_index=1>(p) y = "
    "Cast<to=1>(i) }",
    "agraph (float[2,3,4,6] a, float[6] b) => (float[2,3,8,12] y) <float[4] f = {1, 1, 2, 2}> { p = Add(a, b) y = "
    "Resize<coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\">(p, , f) }",
    "agraph (float[2,3,5,4] a, float[4] b) => (float[2,3,15,8] y) <int64[4] f = {2, 3, 15, 8}> { p = Add(a, b) y = "
    "Resize<mode=\"linear\">(p, , , f) }",
    "agraph (float[1,2,7,4] a, float[4] b) => (float[1,2,14,8] y) <float[4] f = {1, 1, 2, 2}> { p = Add(a, b) y = "
    "Resize<mode=\"cubic\", coordinate_transformation_mode=\"pytorch_half_pixel\">(p, , f) }",
    "agraph (float[1,2,5,4] a, float[4] b) => (float[1,2,10,8] y) <float[4] f = {1, 1, 2, 2}> { p = Add(a, b) y = "
    "Resize<mode=\"linear\", coordinate_transformation_mode=\"align_corners\">(p, , f) }",
    "agraph (float[2,3,4,4] a, float[2,3,2,2] b) => (float[2,3,3,2] y) { y = GridSample(a, b) }",
    "agraph (float[4,3,5] a, float[1,8,5] b) => (float[4,1,3,2] y) <float[1,8,2] r = {1, 0, 0, 1, 0.5, 0.5, 1, 0, "
    "0, 1, 0.5, 0.5, 1, 0, 0, 1}> { y, h, c = LSTM<hidden_size=2>(a, b, r) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,5] y) <uint8[6,5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
    "13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, uint8[5] n = {1, 2, 3, 4, 5}> { p = "
    "Add(a, b) q, s, z = DynamicQuantizeLinear(p) i = MatMulInteger(q, w, z, n) f = Cast<to=1>(i) y = Mul(f, s) }",
    "agraph (float[4,6] a, float[6] b) => (float[4,3] y) <int8[6,3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, "
    "-12, 13, -14, 15, -16, 17, -18}, float s = {0.01}, float[3] t = {0.01, 0.02, 0.03}, int8 z = {3}, int8[3] n = "
    "{0, 1, 2}, float u = {0.05}> { p = Add(a, b) q = QuantizeLinear(p, s, z) r = QLinearMatMul(q, s, z, w, t, n, "
    "u, z) y = DequantizeLinear(r, u, z) }",
    "agraph (float[2,4,5] a, float[5] b) => (float[2,3,5] y) <int8[3,4,3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, "
    "11, -12, 13, -14, 15, -16, 17, -18, 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16, 17, -18}, "
    "float s = {0.01}, float[3] t = {0.01, 0.02, 0.03}, uint8 z = {100}, int8[3] n = {0, 1, 2}, float u = {0.05}, "
    "int32[3] c = {10, 20, -30}> { p = Add(a, b) q = QuantizeLinear(p, s, z) r = QLinearConv<pads=[1,1]>(q, s, z, "
    "w, t, n, u, z, c) y = DequantizeLinear(r, u, z) }",
    "agraph (float[2,4,5] a, float[5] b) => (float[2,2,5] y) <uint8[2,4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
    "12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}, uint8[2] n = {2, 3}> { p = Add(a, b) q, s, z = "
    "DynamicQuantizeLinear(p) i = ConvInteger<pads=[1,1]>(q, w, z, n) f = Cast<to=1>(i) y = Mul(f, s) }",
};

class RandomCuts : public ::testing::TestWithParam<const char*> {};

// A tensor is cut along an axis, or along two, into parts that may be uneven; shards may have several
// holders.
ir::ShardingSpec random_spec(std::mt19937& random, int devices, const ir::Dims& dims) {
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  std::vector<std::int64_t> of(devices);
  std::iota(of.begin(), of.end(), 0);
  std::shuffle(of.begin(), of.end(), random);
  std::vector<std::int64_t> cuttable;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 1) cuttable.push_back(static_cast<std::int64_t>(i));
  }
  ir::ShardingSpec spec;
  if (cuttable.empty()) return {.holders = {of}, .axes = {}};
  const std::int64_t first = cuttable[draw(cuttable.size())];
  const std::int64_t shards = std::min<std::int64_t>(1 + draw(devices), dims[first]);
  spec.axes.push_back(axis(first, shards));
  spec.holders.resize(shards);
  for (std::size_t i = 0; i < of.size(); ++i) spec.holders[i % shards].push_back(of[i]);
  for (auto& holders : spec.holders) std::ranges::sort(holders);
  return spec;
}

// Cuts the first `spoken` ops of a graph at random, the others as it follows, and compares all outputs.
void expect_numbers_of_one_device(const ir::Graph& graph, std::size_t spoken) {
  int compared = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const int devices = 2 + static_cast<int>(random() % 3);
    std::vector<Datum> inputs;
    std::uniform_real_distribution<float> numbers(-1, 1);
    for (ir::ValueId id : graph.inputs) {
      std::vector<float> values(graph[id].type.element_count());
      for (float& value : values) value = numbers(random);
      inputs.emplace_back(tensor<float>(graph[id].type.dims, values));
    }
    std::vector<Said> said;
    for (const ir::Op& op : graph.ops | std::views::take(spoken)) {
      for (ir::ValueId id : op.inputs) {
        if (id.valid() && !graph.is_constant(id) && random() % 2 == 0)
          said.push_back(
              {graph[op.outputs[0]].name, graph[id].name, random_spec(random, devices, graph[id].type.dims)});
      }
      const ir::Value& output = graph[op.outputs[0]];
      if (random() % 3 == 0)
        said.push_back({output.name, output.name, random_spec(random, devices, output.type.dims)});
    }
    Partitioned made;
    try {
      made = cut_graph(graph, devices, said).cut();
    } catch (const Error& error) {
      // Specs of two inputs that do not go together.
      EXPECT_THAT(error.what(), HasSubstr("no device computes some of the results"));
      continue;
    }
    const std::vector<Datum> expected = testing::run_graph(graph, inputs);
    const std::vector<Datum> found = testing::run_graph(made.training.graph, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::vector<float> wanted = testing::values<float>(expected[i]);
      float largest = 1;
      for (float value : wanted) largest = std::max(largest, std::abs(value));
      EXPECT_THAT(testing::values<float>(found[i]), Pointwise(FloatNear(1e-5F * largest), wanted))
          << "seed " << seed << ", output " << i;
    }
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

TEST_P(RandomCuts, GiveTheNumbersOfOneDevice) {
  const ir::Graph graph = graph_of(GetParam());
  expect_numbers_of_one_device(graph, graph.ops.size());
}

// Of half the sum of the squares of the result.
TEST_P(RandomCuts, GiveTheGradientsOfOneDevice) {
  ir::Graph graph = graph_of(GetParam());
  const std::size_t forward = graph.ops.size();
  const ir::ValueId y = graph.outputs[0];
  for (ir::ValueId gradient : ir::differentiate(graph, y, graph.inputs, {.start = y}))
    graph.outputs.push_back(gradient);
  expect_numbers_of_one_device(graph, forward);
}

INSTANTIATE_TEST_SUITE_P(Partition, RandomCuts, ::testing::ValuesIn(kGraphs));

class RandomForwardCuts : public ::testing::TestWithParam<const char*> {};

TEST_P(RandomForwardCuts, GiveTheNumbersOfOneDevice) {
  const ir::Graph graph = graph_of(GetParam());
  expect_numbers_of_one_device(graph, graph.ops.size());
}

INSTANTIATE_TEST_SUITE_P(Partition, RandomForwardCuts, ::testing::ValuesIn(kForwardGraphs));

}  // namespace
}  // namespace podium::annotate
