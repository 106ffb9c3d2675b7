#include "executor/sim/block_cost.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/sim/op_cost.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/training.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

const device::Device& machine() { return *device::find_preset("ipu-m2000"); }

executor::Block block_of(const std::string& text) {
  return {.name = "block", .graph = testing::graph_of(text)};
}

const std::string kTwoOps =
    "g (float[64, 64] x, float[64, 64] w) => (float[64, 64] y) { p = MatMul(x, w) y = Relu(p) }";

TEST(BlockCost, IsTheSumOfItsOps) {
  const executor::Block block = block_of(kTwoOps);
  const BlockCost cost = block_cost(block.graph, machine(), 1472);
  double seconds = 0;
  for (const ir::Op& op : block.graph.ops) seconds += op_seconds(block.graph, op, machine(), 1472);
  EXPECT_DOUBLE_EQ(cost.seconds, seconds);
  EXPECT_DOUBLE_EQ(cost.flop, 2.0 * 64 * 64 * 64 + 64 * 64);
  EXPECT_DOUBLE_EQ(cost.matrix_flop, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(cost.ops, 2);
  EXPECT_EQ(cost.code_bytes, 2 * 94208);
}

TEST(BlockCost, IsMoreOnFewerTiles) {
  const executor::Block block = block_of(
      "g (float[4096, 1024] x, float[1024, 1024] w) => (float[4096, 1024] y) { p = MatMul(x, w) y = Relu(p) "
      "}");
  EXPECT_GT(block_cost(block.graph, machine(), 368).seconds,
            2 * block_cost(block.graph, machine(), 1472).seconds);
}

TEST(BlockCost, SharesTheCodeOfEqualKernelsWhereItIsOutlined) {
  const auto code = [](const std::string& annotation, Outlining outlining) {
    const executor::Block block =
        block_of("g (float[8, 8] x) => (float[8, 8] y) { p = MatMul(x, x) q = MatMul " + annotation +
                 "(p, p) y = Add(p, q) }");
    return block_cost(block.graph, machine(), 1472, outlining).code_bytes;
  };
  EXPECT_EQ(code("", Outlining::On), 2 * 94208);
  EXPECT_EQ(code("", Outlining::Off), 3 * 94208);
  EXPECT_EQ(code("<__outline = [\"layer\", \"1\"]>", Outlining::On), 3 * 94208);
}

TEST(BlockCost, CountsTheOpsOfBodiesForTheirCode) {
  const BlockCost cost = block_cost(block_of(R"(g (float[8] x, bool c) => (float[8] y) {
    y = If (c) <then_branch = t () => (float[8] a) { b = Neg(x) a = Exp(b) },
                else_branch = e () => (float[8] d) { d = Neg(x) }> })")
                                        .graph,
                                    machine(), 1472);
  EXPECT_EQ(cost.ops, 4);
}

TEST(BlockCost, NamesTheOpWhoseSizeOnlyARunTells) {
  try {
    block_cost(block_of("g (float[8] x) => (int64[1, N] y) { y = NonZero(x) }").graph, machine(), 1472);
    FAIL() << "a size that nobody knows";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'y' (NonZero): the size of int64[1,?] is known only by a run");
  }
}

// A block of two ops, of these nodes and movements.
executor::Block copies_of(std::vector<std::string> nodes, std::vector<std::int64_t> movements) {
  executor::Block block = block_of("g (float[8] x) => (float[8] y) { p = Neg(x) y = Exp(p) }");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    block.graph.ops[i].name = nodes[i];
    ir::set_attribute(block.graph.ops[i], ir::kMovement, movements[i]);
  }
  return block;
}

TEST(BlockCosts, AreThoughtOutOnceForBlocksThatAreEqualButForNames) {
  device::Device gpu = *device::find_preset("a100-80");
  gpu.dispatch_seconds = 1;
  BlockCosts costs(gpu, Outlining::On);
  const executor::Block first = copies_of({"a", "b"}, {3, 4});
  const executor::Block second = copies_of({"c", "d"}, {7, 6});
  EXPECT_EQ(&costs.of(first.graph, gpu.tiles), &costs.of(second.graph, gpu.tiles));
  EXPECT_NE(&costs.of(first.graph, gpu.tiles), &costs.of(first.graph, 1));
}

TEST(BlockCosts, AreThoseOfBlocksWhoseOpsBelongTogetherInOtherWays) {
  device::Device gpu = *device::find_preset("a100-80");
  gpu.dispatch_seconds = 1;
  BlockCosts costs(gpu, Outlining::On);
  const executor::Block apart = copies_of({"a", "b"}, {3, 4});
  const executor::Block together = copies_of({"a", "b"}, {3, 3});
  const executor::Block one_node = copies_of({"a", "a"}, {3, 4});
  EXPECT_EQ(costs.of(apart.graph, gpu.tiles).dispatch_seconds, 2);
  EXPECT_EQ(costs.of(together.graph, gpu.tiles).dispatch_seconds, 1);
  EXPECT_NE(&costs.of(apart.graph, gpu.tiles), &costs.of(one_node.graph, gpu.tiles));
}

TEST(OpSeconds, OfAnUnknownSizeIsZero) {
  const ir::Graph graph = testing::graph_of("g (float[8] x) => (int64[1, N] y) { y = NonZero(x) }");
  EXPECT_EQ(op_seconds(graph, graph.ops[0], machine(), 1472), 0);
}

TEST(BlockCost, OfManyUpdatesHasOneLaunchWhereAKernelGoesOverManyTensors) {
  executor::Block block = block_of(
      "g (float[1024] v, float[2048] w, float[1024] dv, float[2048] dw) => (float[1024] a, float[2048] b) "
      "{ a = Sub(v, dv) b = Sub(w, dw) }");
  device::Device gpu = *device::find_preset("a100-80");
  gpu.dispatch_seconds = 1e-3;
  EXPECT_DOUBLE_EQ(block_cost(block.graph, gpu, gpu.tiles).seconds, 2e-3);
  for (ir::Op& op : block.graph.ops) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
  EXPECT_DOUBLE_EQ(block_cost(block.graph, gpu, gpu.tiles).seconds, 1e-3);
  gpu.multi_tensor_kernels = false;
  EXPECT_DOUBLE_EQ(block_cost(block.graph, gpu, gpu.tiles).seconds, 2e-3);
}

// Two tensors are touched between the making of a and its last reading, and of b.
TEST(BlockCost, OfTheHostFindsWhatIsReadSoonInTheThreadsOwnCache) {
  device::Device host = *device::find_preset("a100-80");
  host.kind = device::ProcessorKind::Cpu;
  host.tiles = 1;
  host.fusion = device::Fusion::None;
  host.cache_bytes = 0;
  host.vector_bytes_per_cycle = 1e9;
  host.near_cache_speed = 1e6;
  const executor::Block block =
      block_of("g (float[4096] x) => (float[4096] c) { a = Relu(x) b = Relu(a) c = Add(a, b) }");
  const auto bytes = [&](double near) {
    host.near_cache_bytes = static_cast<std::int64_t>(near);
    const double launches = 3 * host.phase_overhead_cycles / host.clock_hertz;
    return (block_cost(block.graph, host, 1).seconds - launches) * host.exchange_bytes_per_cycle *
           host.clock_hertz;
  };
  constexpr double kTensor = 4.0 * 4096;
  const double all = bytes(0);
  EXPECT_NEAR(all, 7 * kTensor, 1);
  EXPECT_NEAR(bytes(2 * kTensor - 1), all, 1);
  EXPECT_NEAR(bytes(2 * kTensor), 2 * kTensor, 1);  // x and c
  EXPECT_NEAR(bytes(8 * kTensor), 0, 1);
}

TEST(BlockCost, TellsHowLongBeforeItsEndAnOutputIsMade) {
  executor::Block block;
  block.graph = testing::graph_of(
      "g (float[4096, 4096] x, float[4096, 4096] w) => (float[4096, 4096] a, float[4096, 4096] b) "
      "{ a = MatMul(x, w) b = MatMul(a, w) }");
  device::Device device = *device::find_preset("a100-80");
  for (double dispatch : {0.0, 1.0}) {
    device.dispatch_seconds = dispatch;
    const BlockCost cost = block_cost(block.graph, device, device.tiles);
    ASSERT_EQ(cost.early_seconds.size(), 2U);
    EXPECT_NEAR(cost.early_seconds[0], cost.seconds / 2, 1e-9 * cost.seconds);
    EXPECT_DOUBLE_EQ(cost.early_seconds[1], 0);
  }
}

}  // namespace
}  // namespace podium::sim
