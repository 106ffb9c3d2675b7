// A graph cut anywhere gives the numbers of the whole.
#include <gtest/gtest.h>

#include <random>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::Datum;
using ir::Tensor;
using ir::ValueId;
using testing::Sketch;

constexpr int kBatches = 5;
constexpr int kReplicas = 2;

// Two convolutions with pooling, one of them skipped by a shortcut, and a classifier.
ir::Graph small_cnn() {
  Sketch s;
  const ir::Attribute pads{"pads", ir::IntList{1, 1, 1, 1}};
  const std::vector<ir::Attribute> halves{{"kernel_shape", ir::IntList{2, 2}},
                                          {"strides", ir::IntList{2, 2}}};
  ValueId x = s.op("Conv", {s.input({2, 3, 12, 12}), s.weight({8, 3, 3, 3}), s.weight({8})}, {pads});
  x = s.op("Relu", {s.op("MaxPool", {x}, halves)});
  ValueId y = s.op("Relu", {s.op("Conv", {x, s.weight({8, 8, 3, 3}), s.weight({8})}, {pads})});
  y = s.op("MaxPool", {s.op("Add", {x, y})}, halves);
  y = s.op("Flatten", {y});
  y = s.op("Gemm", {y, s.weight({72, 10}), s.weight({10})});
  s.output(s.op("Softmax", {y}));
  return std::move(s.graph);
}

// One layer: attention of two heads and a network with GELU, each added to what it read.
ir::Graph small_transformer() {
  Sketch s;
  const ValueId x = s.input({2, 6, 16});
  const auto heads = [&](ValueId of, ir::IntList perm) {
    const ValueId product = s.op("MatMul", {of, s.weight({16, 16}, 0.3F)});
    const ValueId cut = s.op("Reshape", {product, s.ints({2, 6, 2, 8})});
    return s.op("Transpose", {cut}, {{"perm", std::move(perm)}});
  };
  const auto norm = [&](ValueId of) {
    return s.op("LayerNormalization", {of, s.weight({16}), s.weight({16})});
  };
  const ValueId normed = norm(x);
  ValueId scores = s.op("MatMul", {heads(normed, {0, 2, 1, 3}), heads(normed, {0, 2, 3, 1})});
  scores = s.op("Softmax", {s.op("Mul", {scores, s.number(0.35F)})});
  ValueId mixed = s.op("MatMul", {scores, heads(normed, {0, 2, 1, 3})});
  mixed =
      s.op("Reshape", {s.op("Transpose", {mixed}, {{"perm", ir::IntList{0, 2, 1, 3}}}), s.ints({2, 6, 16})});
  const ValueId added = s.op("Add", {x, s.op("MatMul", {mixed, s.weight({16, 16}, 0.3F)})});
  ValueId wide = s.op("Add", {s.op("MatMul", {norm(added), s.weight({16, 32}, 0.3F)}), s.weight({32})});
  wide = s.op("MatMul", {s.op("Gelu", {wide}), s.weight({32, 16}, 0.3F)});
  s.output(s.op("Add", {added, wide}));
  return std::move(s.graph);
}

// Every op on any of three processors.
ir::Placement scattered(const ir::Graph& graph, std::mt19937& random) {
  ir::Placement placement{.ops = {}, .processors = 3};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    placement.ops.push_back({.processor = static_cast<int>(random() % 3)});
  }
  return placement;
}

// Four stages, cut anywhere in the order of the graph.
ir::Placement staged(const ir::Graph& graph, std::mt19937& random) {
  constexpr int kStages = 4;
  std::vector<bool> cuts(graph.ops.size(), false);
  for (int left = kStages - 1; left > 0;) {
    const std::size_t cut = 1 + random() % (graph.ops.size() - 1);
    if (cuts[cut]) continue;
    cuts[cut] = true;
    --left;
  }
  ir::Placement placement{.ops = {}, .processors = kStages, .stages = kStages};
  int stage = 0;
  for (bool cut : cuts) {
    stage += cut ? 1 : 0;
    placement.ops.push_back({.processor = stage, .stage = stage});
  }
  return placement;
}

// A run of all micro-batches; `batches` of 1 and one replica: without.
Tensor run(const ir::Graph& graph, const ir::Placement& placement, bool pipelining, const Tensor& input,
           const PrepareOptions& prepare, int batches = kBatches, int replicas = kReplicas) {
  const Strategy strategy{.pipelining = pipelining, .batches_per_step = batches, .replicas = replicas};
  Engine engine(lower::lower(graph, placement, strategy), prepare);
  const std::vector<Datum> inputs{Datum(input)};
  engine.run(inputs);  // what one run leaves behind must not disturb the next
  return engine.run(inputs)[0].tensor.clone();
}

// Each micro-batch by itself, on one processor.
Tensor one_by_one(const ir::Graph& graph, const Tensor& input, bool fuse) {
  const ir::Placement alone{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  const ir::Type& type = graph[graph.inputs[0]].type;
  std::vector<float> numbers;
  for (std::int64_t first = 0; first < input.size(); first += type.element_count()) {
    auto* data = const_cast<float*>(input.data<float>() + first);
    const Tensor chunk = Tensor::view(type.element, type.dims, data);
    const Tensor result = run(graph, alone, false, chunk, {.fuse = fuse}, 1, 1);
    numbers.insert(numbers.end(), result.data<float>(), result.data<float>() + result.size());
  }
  ir::Dims dims{kBatches, kReplicas};
  const ir::Dims& own = graph[graph.outputs[0]].type.dims;
  dims.insert(dims.end(), own.begin(), own.end());
  return Tensor::of<float>(dims, numbers);
}

Tensor input_of(const ir::Graph& graph) {
  ir::Dims dims = graph[graph.inputs[0]].type.dims;
  dims.insert(dims.begin(), {kBatches, kReplicas});
  return testing::random_floats(dims, 7);
}

class Split : public ::testing::TestWithParam<ir::Graph (*)()> {};

TEST_P(Split, GivesTheSameBitsWithoutFusion) {
  const ir::Graph graph = GetParam()();
  const Tensor input = input_of(graph);
  const Tensor expected = one_by_one(graph, input, false);
  std::mt19937 random(1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(identical(run(graph, scattered(graph, random), false, input, {.fuse = false}), expected));
    EXPECT_TRUE(identical(run(graph, staged(graph, random), true, input, {.fuse = false}), expected));
  }
}

TEST_P(Split, IsCloseWithFusion) {
  const ir::Graph graph = GetParam()();
  const Tensor input = input_of(graph);
  const Tensor expected = one_by_one(graph, input, true);
  std::mt19937 random(2);
  for (int i = 0; i < 5; ++i) {
    const Tensor found = run(graph, staged(graph, random), true, input, {});
    for (std::int64_t k = 0; k < expected.size(); ++k) {
      const float wanted = expected.data<float>()[k];
      ASSERT_NEAR(found.data<float>()[k], wanted, 1e-5 * std::max(1.0F, std::abs(wanted)));
    }
  }
}

TEST_P(Split, DoesNotDependOnThreads) {
  const ir::Graph graph = GetParam()();
  const Tensor input = input_of(graph);
  std::mt19937 random(3);
  for (bool pipelining : {false, true}) {
    const ir::Placement placement = pipelining ? staged(graph, random) : scattered(graph, random);
    const Tensor expected = run(graph, placement, pipelining, input, {.threads = 1});
    for (int threads : {2, 4}) {
      EXPECT_TRUE(identical(run(graph, placement, pipelining, input, {.threads = threads}), expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, Split, ::testing::Values(small_cnn, small_transformer));

}  // namespace
}  // namespace podium::numeric
