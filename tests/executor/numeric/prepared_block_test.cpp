#include "executor/numeric/prepared_block.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "tests/support/fusing.h"
#include "tests/support/graph_text.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // g++ 12 does not see that these belong together
// Counts what the tests below forbid. Both forms, as std::stable_sort asks for the second one: sanitizers
// would not have it freed below.
void* operator new(std::size_t bytes, const std::nothrow_t& /*quiet*/) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
#pragma GCC diagnostic pop

namespace podium::numeric {
namespace {

using ir::Datum;
using ir::ValueId;
using testing::Sketch;

TEST(PreparedBlock, AllocatesNothingInARunOfStaticShapes) {
  Sketch s;
  const ValueId x = s.input({3, 8});
  ValueId y = s.op("Add", {s.op("Relu", {x}), s.weight({8})});
  y = s.op("Softmax", {s.op("Mul", {y, y})});
  s.output(s.op("Transpose", {y}, {{"perm", ir::IntList{1, 0}}}));
  PreparedBlock block(s.graph, {});
  const Datum input(testing::random_floats({3, 8}, 1));
  const Datum* pointer = &input;
  block.run({&pointer, 1});
  const long before = allocations;
  block.run({&pointer, 1});
  EXPECT_EQ(allocations - before, 0);
}

TEST(PreparedBlock, SharesAnInputThatItOnlyHandsOn) {
  for (const bool fuse : {false, true}) {
    Sketch s;
    const ValueId x = s.input({3, 8});
    s.output(s.op("Relu", {x}));
    s.output(s.op("Identity", {s.op("Identity", {x})}));
    PreparedBlock block(s.graph, {.fuse = fuse});
    const Datum input(testing::random_floats({3, 8}, 1));
    const Datum* pointer = &input;
    const auto results = block.run({&pointer, 1});
    EXPECT_EQ(results[1]->tensor.raw(), input.tensor.raw());
    EXPECT_NE(results[0]->tensor.raw(), input.tensor.raw());
  }
}

TEST(PreparedBlock, GivesTheSameBitsWithAnyNumberOfThreads) {
  Sketch s;
  const ValueId x = s.input({2, 16, 30, 30});
  ValueId y = s.op("Relu", {s.op("Conv", {x, s.weight({64, 16, 3, 3}), s.weight({64})})});
  y = s.op("GlobalAveragePool", {s.op("Conv", {y, s.weight({32, 64, 1, 1})})});
  y = s.op("MatMul", {s.op("Reshape", {y, s.ints({2, 32})}), s.weight({32, 500})});
  s.output(s.op("Softmax", {y}));
  const Datum input(testing::random_floats({2, 16, 30, 30}, 1));
  const Datum* pointer = &input;
  PreparedBlock one(s.graph, {.threads = 1});
  PreparedBlock three(s.graph, {.threads = 3});
  EXPECT_TRUE(identical(one.run({&pointer, 1})[0]->tensor, three.run({&pointer, 1})[0]->tensor));
}

// oneDNN sums over these channels in another order when it is made for one thread.
TEST(PreparedBlock, GivesTheSameBitsForNarrowImagesOfManyChannels) {
  Sketch s;
  s.output(s.op("Conv", {s.input({2, 128, 4, 4}), s.weight({128, 128, 3, 3}), s.weight({128})},
                {{"pads", ir::IntList{1, 1, 1, 1}}}));
  const Datum input(testing::random_floats({2, 128, 4, 4}, 1));
  const Datum* pointer = &input;
  for (const bool fuse : {true, false}) {
    PreparedBlock one(s.graph, {.threads = 1, .fuse = fuse});
    PreparedBlock all(s.graph, {.fuse = fuse});
    EXPECT_TRUE(identical(one.run({&pointer, 1})[0]->tensor, all.run({&pointer, 1})[0]->tensor));
  }
}

TEST(PreparedBlock, LeavesAloneWhatSomebodyHoldsOfTheRunBefore) {
  Sketch s;
  const ValueId y = s.op("Relu", {s.op("Add", {s.input({2}), s.weight({2})})});
  s.output(y);
  s.output(s.op("Reshape", {y, s.ints({2, 1})}));
  PreparedBlock block(s.graph, {});
  const Datum ones(ir::Tensor::of<float>({2}, {1, 1}));
  const Datum twos(ir::Tensor::of<float>({2}, {2, 2}));
  const Datum* pointer = &ones;
  Datum held = *block.run({&pointer, 1})[1];
  const float before = held.tensor.data<float>()[0];
  pointer = &twos;
  const auto next = block.run({&pointer, 1});
  EXPECT_EQ(held.tensor.data<float>()[0], before);
  EXPECT_NEAR(next[0]->tensor.data<float>()[0], before + 1, 1e-6);
  EXPECT_EQ(next[1]->tensor.raw(), next[0]->tensor.raw());
  const void* last = next[0]->tensor.raw();
  EXPECT_EQ(block.run({&pointer, 1})[0]->tensor.raw(), last);
}

// Memory that no run has made may be the host's, and read-only.
TEST(PreparedBlock, WritesOverWhatItReplacesWhenNobodyElseHoldsIt) {
  Sketch s;
  const ValueId x = s.input({2});
  s.output(s.op("Add", {s.op("Mul", {x, x}), x}));
  PreparedBlock block(s.graph, {}, {}, {{.input = 0, .output = 0}});
  const auto run = [&](const Datum& given) {
    const Datum* pointer = &given;
    return *block.run({&pointer, 1})[0];
  };
  const auto first = [](const Datum& datum) { return datum.tensor.data<float>()[0]; };
  const Datum host(ir::Tensor::of<float>({2}, {1, 2}));
  Datum mine = run(host);
  EXPECT_EQ(first(host), 1);
  const void* memory = mine.tensor.raw();
  EXPECT_EQ((mine = run(mine)).tensor.raw(), memory);
  EXPECT_EQ(first(mine), 6);
  const Datum held = mine;
  EXPECT_NE((mine = run(mine)).tensor.raw(), memory);
  EXPECT_EQ(first(held), 6);
  // Two replicas take turns.
  Datum other = run(host);
  memory = mine.tensor.raw();
  EXPECT_EQ((mine = run(mine)).tensor.raw(), memory);
  memory = other.tensor.raw();
  EXPECT_EQ((other = run(other)).tensor.raw(), memory);
  EXPECT_EQ(first(other), 6);
}

TEST(PreparedBlock, KeepsWhatIsReadAfterItsReplacementIsMade) {
  Sketch s;
  const ValueId x = s.input({2});
  s.output(s.op("Add", {x, s.number(1)}));
  s.output(s.op("Neg", {x}));
  PreparedBlock block(s.graph, {}, {}, {{.input = 0, .output = 0}});
  Datum given(ir::Tensor::of<float>({2}, {1, 2}));
  const Datum* pointer = &given;
  given = *block.run({&pointer, 1})[0];
  EXPECT_EQ(block.run({&pointer, 1})[1]->tensor.data<float>()[0], -2);
}

TEST(PreparedBlock, HandsAnInputOn) {
  Sketch s;
  const ValueId x = s.input({2});
  s.output(x);
  s.output(s.op("Relu", {x}));
  PreparedBlock block(s.graph, {});
  const Datum ones(ir::Tensor::of<float>({2}, {1, 1}));
  const Datum* pointer = &ones;
  EXPECT_EQ(block.run({&pointer, 1})[0]->tensor.raw(), ones.tensor.raw());
}

// The caller may write what the block gives over what it has taken.
TEST(PreparedBlock, MakesZerosOnceForAllRuns) {
  ir::Graph graph;
  const ValueId zeros = graph.add_value("zeros", ir::Type::tensor(ir::DataType::Float, {3}));
  graph.ops.push_back({.spec = ir::find_op("podium", "Zeros"), .outputs = {zeros}});
  ir::set_attribute(graph.ops[0], "shape", ir::IntList{3});
  ir::set_attribute(graph.ops[0], "dtype", static_cast<std::int64_t>(ir::DataType::Float));
  graph.outputs = {zeros};
  PreparedBlock block(graph, {});
  const Datum first = *block.run({})[0];
  EXPECT_EQ(block.run({})[0]->tensor.raw(), first.tensor.raw());
  EXPECT_THAT(first.tensor.values<float>(), ::testing::Each(0));
}

TEST(PreparedBlock, HandsAnInputOnAsItWas) {
  Sketch s;
  const ValueId x = s.input({2});
  s.output(s.op("Neg", {x}));
  s.output(x);
  PreparedBlock block(s.graph, {});
  Datum slot(ir::Tensor::of<float>({2}, {1, 1}));
  const Datum* pointer = &slot;
  const auto given = block.run({&pointer, 1});
  slot = *given[0];
  EXPECT_EQ(given[1]->tensor.data<float>()[0], 1);
}

// A weight whose memory tells when nobody keeps it.
std::weak_ptr<const void> add_watched_weight(ir::Graph& graph, ValueId& id) {
  auto memory = std::make_shared<std::vector<float>>(12, 0.5F);
  id = graph.add_constant("watched", ir::Tensor::adopt(ir::DataType::Float, {3, 4}, memory->data(), memory));
  return memory;
}

TEST(PreparedBlock, KeepsPackedWeightsOnce) {
  Sketch s;
  ValueId weight;
  const auto watched = add_watched_weight(s.graph, weight);
  s.output(s.op("MatMul", {s.input({2, 3}), weight}));
  const PreparedBlock block(std::move(s.graph), {});
  EXPECT_TRUE(watched.expired());
}

TEST(PreparedBlock, KeepsWeightsThatSomethingElseReads) {
  Sketch s;
  ValueId weight;
  const auto watched = add_watched_weight(s.graph, weight);
  s.output(s.op("MatMul", {s.input({2, 3}), weight}));
  s.output(s.op("Mul", {s.input({3, 4}), weight}));
  const PreparedBlock block(std::move(s.graph), {});
  EXPECT_FALSE(watched.expired());
}

TEST(PreparedBlock, PacksWeightsThatABodyCaptures) {
  ir::Graph graph = testing::graph_of(R"(g (bool c, float[2,3] x) => (float[2,4] y)
    <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
    y = If(c) <then_branch = t () => (float[2,4] a) { a = MatMul(x, w) },
               else_branch = e () => (float[2,4] b) { d = MatMul(x, w) b = Neg(d) }>
  })");
  std::string ops;
  PreparedBlock block(std::move(graph), {.after_op = [&](const ir::Graph&, const ir::Op& op, double) {
                        ops += fmt::format("{}.{} ", op.spec->domain, op.spec->name);
                      }});
  const std::vector<Datum> inputs{ir::Tensor::of<bool>({}, {false}),
                                  ir::Tensor::of<float>({2, 3}, {1, 0, 0, 0, 0, 2})};
  const std::vector<const Datum*> pointers{&inputs[0], &inputs[1]};
  const ir::Tensor& y = block.run(pointers)[0]->tensor;
  EXPECT_EQ(std::vector<float>(y.values<float>().begin(), y.values<float>().end()),
            (std::vector<float>{-1, -2, -3, -4, -18, -20, -22, -24}));
  EXPECT_EQ(ops, "podium.MatMul .Neg .If ");
}

TEST(PreparedBlock, ReadsTheInputsOfEachRun) {
  Sketch s;
  s.output(s.op("Relu", {s.op("MatMul", {s.input({1, 2}), s.weight({2, 3})})}));
  PreparedBlock block(s.graph, {});
  const Datum zero(ir::Tensor::of<float>({1, 2}, {0, 0}));
  const Datum* pointer = &zero;
  EXPECT_EQ(block.run({&pointer, 1})[0]->tensor.data<float>()[0], 0);
  const Datum one(testing::random_floats({1, 2}, 3));
  pointer = &one;
  const ir::Tensor fused = block.run({&pointer, 1})[0]->tensor.clone();
  PreparedBlock plain(s.graph, {.fuse = false});
  EXPECT_NEAR(fused.data<float>()[1], plain.run({&pointer, 1})[0]->tensor.data<float>()[1], 1e-6);
}

}  // namespace
}  // namespace podium::numeric
