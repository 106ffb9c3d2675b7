#include "executor/sim/device_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/device/presets.h"
#include "ir/annotation.h"
#include "ir/training.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

using device::Device;
using device::Fusion;

Device with_fusion(const char* preset, Fusion fusion) {
  Device device = *device::find_preset(preset);
  device.fusion = fusion;
  return device;
}

const std::string kChain =
    "g (float[4096, 4096] x, float[1] s) => (float[4096, 4096] y) { a = Exp(x) b = Mul(a, s) y = Add(b, x) }";

const std::string kAttention = R"(g (float16[8, 16, 2048, 64] q, float16[8, 16, 64, 2048] k,
      float16[8, 16, 2048, 64] v) => (float16[8, 16, 2048, 64] y) {
    s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) })";

double seconds(const ir::Graph& graph, const Device& device) {
  const KernelCosts price(graph, device, device.tiles);
  double sum = 0;
  for (const DeviceKernel& kernel : device_kernels(graph, device)) sum += price(kernel).seconds;
  return sum;
}

TEST(DeviceKernels, AreOneForNeighboursWhereAllAreFused) {
  const ir::Graph graph = testing::graph_of(kChain);
  EXPECT_EQ(device_kernels(graph, with_fusion("a100-80", Fusion::All)).size(), 1U);
  EXPECT_EQ(device_kernels(graph, with_fusion("a100-80", Fusion::None)).size(), 3U);
  EXPECT_EQ(device_kernels(graph, with_fusion("a100-80", Fusion::Nodes)).size(), 3U);
}

TEST(DeviceKernels, AreOneForTheOpsThatWriteOutANode) {
  ir::Graph graph = testing::graph_of(kChain);
  graph.ops[0].name = graph.ops[1].name = "gelu_gradient";
  graph.ops[2].name = "residual";
  EXPECT_EQ(device_kernels(graph, with_fusion("ipu-m2000", Fusion::Nodes)).size(), 2U);
}

TEST(DeviceKernels, AreOneForTheOpsOfAnUpdate) {
  ir::Graph graph = testing::graph_of(kChain);
  for (ir::Op& op : graph.ops) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
  EXPECT_EQ(device_kernels(graph, with_fusion("ipu-m2000", Fusion::Nodes)).size(), 1U);
}

// A number that is made behind the first op of an update could have been made before it.
TEST(DeviceKernels, AreOneWhereANumberIsMadeBetweenTheirOps) {
  const auto kernels = [](const std::string& of_numbers) {
    const ir::Graph graph =
        testing::graph_of("g (float[64, 64] x, float[1] t) => (float[64, 64] y) { a = Mul(x, x) " +
                          of_numbers + " y = Mul(a, n) }");
    return device_kernels(graph, with_fusion("a100-80", Fusion::All)).size();
  };
  EXPECT_EQ(kernels("m = Neg(t) n = ReduceSum(m)"), 3U);
  EXPECT_EQ(kernels("m = Neg(t) k = Cast <to = 1> (m) n = Exp(k)"), 1U);
}

// The engine's plain arithmetic stays in registers, where a division takes longest; on GPUs all is one rate.
TEST(DeviceKernels, OfPlainArithmeticComputeInRegistersOnThisMachine) {
  const auto slower = [](device::ProcessorKind kind, const std::string& op) {
    Device device = with_fusion("a100-80", Fusion::All);
    device.kind = kind;
    device.vector_bytes_per_cycle = 0.01;  // so that memory has no part
    const auto taken = [&](const std::string& last) {
      return seconds(
          testing::graph_of("g (float[4096, 4096] x) => (float[4096, 4096] y) { a = Mul(x, x) b = Add(a, x)"
                            " c = Sub(b, x) d = Mul(c, x) y = " +
                            last + "(d, x) }"),
          device);
    };
    return taken(op) / taken("Add");
  };
  EXPECT_NEAR(slower(device::ProcessorKind::Cpu, "Div"), (4 + 8) / 5.0, 0.01);
  EXPECT_NEAR(slower(device::ProcessorKind::Cpu, "Sub"), 1, 0.01);
  EXPECT_NEAR(slower(device::ProcessorKind::Gpu, "Div"), 1, 0.01);
}

// A product between quantised numbers as the passes leave it, but for the annotation.
ir::Graph between_bytes() {
  ir::Graph graph = testing::graph_of(
      "g (uint8[4096, 4096] q, float[4096, 4096] w) => (uint8[4096, 4096] y)"
      " <float one = {1}, float s = {0.1}, uint8 z = {128}, float[4096] b>"
      " { x = DequantizeLinear(q, one, z) p = MatMul(x, w) m = Mul(p, s) r = Relu(m) y = QuantizeLinear(r, s, z) }");
  return graph;
}

TEST(DeviceKernels, OfAProductOfBytesReadAndGiveBytes) {
  const Device device = with_fusion("a100-80", Fusion::All);
  ir::Graph graph = between_bytes();
  const double of_floats = seconds(graph, device);
  EXPECT_EQ(device_kernels(graph, device).size(), 2U);  // bytes become floats, then all else is one
  for (ir::Op& op : graph.ops) {
    if (op.is("MatMul")) ir::set_attribute(op, ir::kMultipliesBytes, std::int64_t{1});
  }
  const KernelCosts price(graph, device, device.tiles);
  const std::vector<DeviceKernel> kernels = device_kernels(graph, device);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(price(kernels[0]).seconds, 0);
  const OpCost product = price(kernels[1]);
  EXPECT_LT(product.seconds, 0.4 * of_floats);
  EXPECT_LT(product.ideal_seconds, product.seconds);
}

TEST(DeviceKernels, OfAProductOfBytesAreThoseOfFloatsWhereUnitsAreNoFasterAtThem) {
  Device device = with_fusion("a100-80", Fusion::All);
  device.matrix.quarter = device.matrix.single;
  ir::Graph graph = between_bytes();
  const double of_floats = seconds(graph, device);
  ir::set_attribute(graph.ops[1], ir::kMultipliesBytes, std::int64_t{1});
  EXPECT_EQ(seconds(graph, device), of_floats);
}

// Three ops read and write four and three tensors; one kernel reads x and writes y.
TEST(DeviceKernels, GoOverTheirTensorsOnce) {
  const ir::Graph graph = testing::graph_of(kChain);
  Device fused = with_fusion("a100-80", Fusion::All);
  fused.phase_overhead_cycles = 0;
  fused.cache_bytes = 0;
  Device apart = fused;
  apart.fusion = Fusion::None;
  EXPECT_NEAR(seconds(graph, apart) / seconds(graph, fused), 7.0 / 2, 0.1);
}

TEST(DeviceKernels, TakeAProductsResultBeforeItIsStored) {
  const ir::Graph graph = testing::graph_of(
      "g (float16[4096, 64] x, float16[64, 4096] w) => (float16[4096, 4096] y) { p = MatMul(x, w) y = Relu(p) }");
  const Device device = with_fusion("a100-80", Fusion::All);
  const auto kernels = device_kernels(graph, device);
  ASSERT_EQ(kernels.size(), 1U);
  const double product = op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
  EXPECT_NEAR(KernelCosts(graph, device, device.tiles)(kernels[0]).seconds, product, 0.05 * product);
}

// A piece of a product has some columns of a row; the sum over it is known later.
TEST(DeviceKernels, OfAProductDoNotNormaliseItsRows) {
  const ir::Graph softmax = testing::graph_of(
      "g (float16[512, 64] x, float16[64, 512] w) => (float16[512, 512] y) { p = MatMul(x, w) s = Relu(p) "
      "y = Softmax(s) }");
  EXPECT_EQ(device_kernels(softmax, with_fusion("a100-80", Fusion::All)).size(), 2U);
  ir::Graph gradient = testing::graph_of(
      "g (float16[512, 64] x, float16[64, 512] w, float16[512, 512] p) => (float16[512, 512] y) "
      "<int64[1] columns = {1}> "
      "{ flow = MatMul(x, w) a = Mul(flow, p) sum = ReduceSum(a, columns) b = Mul(p, sum) y = Sub(a, b) }");
  for (std::size_t i = 1; i < gradient.ops.size(); ++i) gradient.ops[i].name = "softmax_gradient";
  EXPECT_EQ(device_kernels(gradient, with_fusion("a100-80", Fusion::All)).size(), 2U);
}

TEST(DeviceKernels, OfAProductReadAnOperandAsItLies) {
  const Device device = with_fusion("a100-80", Fusion::All);
  const auto price = [&](const char* text) { return seconds(testing::graph_of(text), device); };
  const double plain =
      price("g (float16[512, 4096] x, float16[4096, 512] w) => (float16[512, 512] y) { y = MatMul(x, w) }");
  const double turned = price(
      "g (float16[512, 4096] x, float16[512, 4096] w) => (float16[512, 512] y) "
      "{ t = Transpose(w) y = MatMul(x, t) }");
  EXPECT_DOUBLE_EQ(turned, plain);
  const double read_elsewhere = price(
      "g (float16[512, 4096] x, float16[512, 4096] w) => (float16[512, 512] y, float16[4096, 512] z) "
      "{ t = Transpose(w) y = MatMul(x, t) z = Relu(t) }");
  EXPECT_GT(read_elsewhere,
            plain + price("g (float16[512, 4096] w) => (float16[4096, 512] t) { t = Transpose(w) }"));
}

TEST(DeviceKernels, EndInReductionsOfWhatTheyMake) {
  const ir::Graph graph = testing::graph_of(
      "g (float[4096, 512] x) => (float[1, 512] y, float[1, 512] z) <int64[1] rows = {0}> "
      "{ a = Exp(x) y = ReduceSum(a, rows) z = ReduceMax(a, rows) }");
  EXPECT_EQ(device_kernels(graph, with_fusion("a100-80", Fusion::All)).size(), 1U);
  EXPECT_EQ(device_kernels(graph, with_fusion("ipu-m2000", Fusion::All)).size(), 3U);
}

const std::string kNormalized =
    "g (float[4096, 512] x) => (float[4096, 512] y) <int64[1] rows = {0}> "
    "{ a = Exp(x) mean = ReduceMean(a, rows) y = Sub(a, mean) }";

// Nobody knows the mean before all rows have been there.
TEST(DeviceKernels, AreTwoWhereOneReadsWhatTheOtherMakesOfAllRows) {
  const ir::Graph graph = testing::graph_of(kNormalized);
  EXPECT_EQ(device_kernels(graph, with_fusion("a100-80", Fusion::All)).size(), 2U);
}

TEST(DeviceKernels, GoTwiceOverTheOperandsOfANormalisationsGradient) {
  ir::Graph graph = testing::graph_of(kNormalized);
  for (ir::Op& op : graph.ops) op.name = "norm_gradient";
  Device device = with_fusion("a100-80", Fusion::Nodes);
  ASSERT_EQ(device_kernels(graph, device).size(), 1U);
  device.phase_overhead_cycles = 0;
  device.cache_bytes = 0;
  const double bytes = 4096 * 512 * 4;
  const double rate = device.tiles * device.exchange_bytes_per_cycle * device.clock_hertz;
  EXPECT_NEAR(seconds(graph, device), 3 * bytes / rate, 0.01 * bytes / rate);
}

// The scale gets its shape between the ops of the gradient, which costs nothing.
TEST(DeviceKernels, OfANormalisationsGradientAreOneAroundTheShapeOfItsScale) {
  ir::Graph graph = testing::graph_of(
      "g (float[4096, 512] x, float[4096, 512] flow, float[512] scale) => (float[4096, 512] y) "
      "<int64[1] rows = {0}, int64[2] wide = {1, 512}> "
      "{ mean = ReduceMean(x, rows) moved = Sub(x, mean) shaped = Reshape(scale, wide) "
      "into = Mul(flow, shaped) sum = ReduceMean(into, rows) least = Sub(into, sum) y = Mul(least, moved) }");
  for (ir::Op& op : graph.ops) op.name = "norm_gradient";
  const auto takes_time = [&](const char* preset) {
    const Device device = with_fusion(preset, Fusion::Nodes);
    const KernelCosts price(graph, device, device.tiles);
    return std::ranges::count_if(device_kernels(graph, device),
                                 [&](const DeviceKernel& kernel) { return price(kernel).seconds > 0; });
  };
  EXPECT_EQ(takes_time("a100-80"), 1);
  EXPECT_GT(takes_time("ipu-m2000"), 1);
}

// A gradient that libraries have a kernel for stays one, whatever comes before it.
TEST(DeviceKernels, OfANodesGradientTakeInWhatIsBeforeItAsAWhole) {
  ir::Graph graph = testing::graph_of(
      "g (float[4096, 512] x, float[4096, 512] g, bool[4096, 512] m, float z) => (float[4096, 512] y) "
      "<int64[1] rows = {0}> { a = Exp(x) flow = Where(m, g, z) mean = ReduceMean(a, rows) "
      "moved = Sub(a, mean) sum = ReduceMean(flow, rows) least = Sub(flow, sum) y = Mul(least, moved) }");
  for (std::size_t i = 2; i < graph.ops.size(); ++i) graph.ops[i].name = "norm_gradient";
  const auto kernels = device_kernels(graph, with_fusion("a100-80", Fusion::All));
  ASSERT_FALSE(kernels.empty());
  EXPECT_GE(kernels.back().size(), graph.ops.size() - 2);
}

// How often the bytes of x are moved; y, as large, is stored once.
double times_of_operand(const std::string& text, const Device& device) {
  const ir::Graph graph = testing::graph_of(text);
  Device bare = device;
  bare.phase_overhead_cycles = 0;
  bare.cache_bytes = 0;
  const double rate = bare.tiles * bare.exchange_bytes_per_cycle * bare.clock_hertz;
  return seconds(graph, bare) * rate / static_cast<double>(ir::packed_bytes(graph[graph.inputs[0]].type)) - 1;
}

std::string of_rows(int columns, const std::string& ops) {
  return fmt::format("g (float16[65536, {0}] x) => (float16[65536, {0}] y) {{ {1} }}", columns, ops);
}

TEST(DeviceKernels, ReadARowTwiceThatTheyCannotKeep) {
  Device device = with_fusion("a100-80", Fusion::All);
  device.row_bytes = 4096;
  for (const char* ops : {"y = Softmax(x)", "a = Relu(x) y = Softmax(a)", "a = Relu(x) y = LogSoftmax(a)"}) {
    EXPECT_NEAR(times_of_operand(of_rows(1024, ops), device), 1, 0.01) << ops;
    EXPECT_NEAR(times_of_operand(of_rows(1025, ops), device), 2, 0.01) << ops;
  }
  device.row_bytes = 8192;
  EXPECT_NEAR(times_of_operand(of_rows(1025, "a = Relu(x) y = Softmax(a)"), device), 1, 0.01);
}

// Only what the row is computed from is read again, not what comes behind.
TEST(DeviceKernels, ReadOnceWhatTheyAddToANormalisedRow) {
  const Device device = with_fusion("a100-80", Fusion::All);
  const auto times = [&](const char* ops) {
    return times_of_operand(
        "g (float16[65536, 8192] x, float16[65536, 8192] z) => (float16[65536, 8192] y) { " +
            std::string(ops) + " }",
        device);
  };
  EXPECT_NEAR(times("a = Softmax(x) y = Add(a, z)"), 3, 0.01);
  EXPECT_NEAR(times("a = Add(x, z) y = Softmax(a)"), 4, 0.01);
}

// A loss in singles of scores in halves: libraries have kernels of one type.
TEST(DeviceKernels, OfLongRowsReadWhatHasBeenConverted) {
  const Device device = with_fusion("a100-80", Fusion::All);
  const auto kernels = [&](int columns) {
    const ir::Graph graph = testing::graph_of(
        fmt::format("g (float16[8192, {0}] x, int64[8192] labels) => (float16[8192, {0}] y, float loss) {{ "
                    "s = Cast<to = 1>(x) loss = SoftmaxCrossEntropyLoss(s, labels) p = Softmax(s) "
                    "y = Cast<to = 10>(p) }}",
                    columns));
    return device_kernels(graph, device).size();
  };
  EXPECT_EQ(kernels(1024), 2);
  EXPECT_EQ(kernels(50304), 4);
}

// What is largest and the sum come before the result.
TEST(DeviceKernels, OfALossOverManyClassesReadScoresTwice) {
  const auto loss = [](int columns) {
    return seconds(
        testing::graph_of(fmt::format("g (float[65536, {0}] x, int64[65536] labels) => (float loss) "
                                      "{{ loss = SoftmaxCrossEntropyLoss(x, labels) }}",
                                      columns)),
        with_fusion("a100-80", Fusion::All));
  };
  EXPECT_NEAR(loss(1025) / loss(1024), 2, 0.1);
}

TEST(DeviceKernels, OfARowsGradientReadALongRowTwice) {
  const auto times = [](int columns) {
    ir::Graph graph = testing::graph_of(fmt::format(
        "g (float16[65536, {0}] x, float16[65536, {0}] p) => (float16[65536, {0}] y) "
        "<int64[1] columns = {{1}}> {{ a = Mul(x, p) sum = ReduceSum(a, columns) b = Mul(p, sum) y = Sub(a, b) }}",
        columns));
    for (ir::Op& op : graph.ops) op.name = "softmax_gradient";
    Device device = with_fusion("a100-80", Fusion::Nodes);
    device.phase_overhead_cycles = 0;
    device.cache_bytes = 0;
    const double rate = device.tiles * device.exchange_bytes_per_cycle * device.clock_hertz;
    return seconds(graph, device) * rate / (65536.0 * columns * 2);
  };
  EXPECT_NEAR(times(1024), 3, 0.01);
  EXPECT_NEAR(times(8192), 5, 0.01);
}

// Grouped heads make scores of five dimensions, which are the same scores in four.
TEST(DeviceKernels, KeepScoresInsideWhateverHeadsAreCountedIn) {
  const Device device = with_fusion("a100-80", Fusion::All);
  const double plain = seconds(testing::graph_of(kAttention), device);
  const double grouped = seconds(testing::graph_of(R"(g (float16[8, 4, 4, 2048, 64] q,
      float16[8, 4, 1, 64, 2048] k, float16[8, 4, 1, 2048, 64] v) => (float16[8, 4, 4, 2048, 64] y)
      <int64[4] four = {8, 16, 2048, 2048}, int64[5] five = {8, 4, 4, 2048, 2048}> {
    s = MatMul(q, k) t = Reshape(s, four) u = Softmax(t) p = Reshape(u, five) y = MatMul(p, v) })"),
                                 device);
  EXPECT_NEAR(grouped, plain, 0.1 * plain);
}

// A gradient that is written out in singles is computed from what is stored.
TEST(DeviceKernels, OfAttentionComputeInTheWidthThatIsStored) {
  const Device device = with_fusion("a100-80", Fusion::All);
  const auto price = [&](const char* widen) {
    return seconds(testing::graph_of(std::string("g (float16[8, 16, 2048, 64] q, float16[8, 16, 64, 2048] k, "
                                                 "float16[8, 16, 2048, 64] v) => (") +
                                     widen),
                   device);
  };
  const double halves =
      price("float16[8, 16, 2048, 64] y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }");
  const double singles = price(
      "float[8, 16, 2048, 64] y) { qs = Cast<to = 1>(q) ks = Cast<to = 1>(k) vs = Cast<to = 1>(v) "
      "s = MatMul(qs, ks) p = Softmax(s) y = MatMul(p, vs) }");
  EXPECT_LT(singles, 1.6 * halves);
}

// y waits for a kernel that reads a: a and y cannot be one.
TEST(DeviceKernels, RunAtOneTime) {
  const ir::Graph graph = testing::graph_of(
      "g (float[64, 64] x) => (float[64, 64] y) { a = Exp(x) b = MatMul(a, a) c = Softmax<axis = 0>(b) "
      "d = Transpose(c) y = Add(a, d) }");
  for (const DeviceKernel& kernel : device_kernels(graph, with_fusion("a100-80", Fusion::All))) {
    const bool makes_a = kernel.front() == &graph.ops[0];
    EXPECT_EQ(kernel.size() > 1 && makes_a, false);
  }
}

TEST(DeviceKernels, KeepScoresInsideWhereTheCompilerFusesNothingElse) {
  const ir::Graph graph = testing::graph_of(kAttention);
  Device apart = with_fusion("a100-80", Fusion::Nodes);
  const double in_one = seconds(graph, apart);
  apart.attention_share = 0;
  EXPECT_LT(in_one, 0.6 * seconds(graph, apart));
}

TEST(DeviceKernels, KeepTheScoresOfAttentionInside) {
  const ir::Graph graph = testing::graph_of(kAttention);
  Device fused = with_fusion("a100-80", Fusion::All);
  Device apart = fused;
  apart.attention_share = 0;
  EXPECT_LT(seconds(graph, fused), 0.6 * seconds(graph, apart));
  const double flop = 4.0 * 8 * 16 * 2048 * 2048 * 64;
  EXPECT_GT(seconds(graph, fused), flop / (fused.attention_share * 312e12));
}

// The host has such a kernel where scores are many, and none for gradients.
TEST(DeviceKernels, KeepLargeScoresInsideOnThisMachine) {
  Device host = with_fusion("a100-80", Fusion::All);
  host.kind = device::ProcessorKind::Cpu;
  Device apart = host;
  apart.attention_share = 0;
  const auto faster = [&](const std::string& sequence, const std::string& more) {
    const std::string heads = "float[2, 12, " + sequence + ", 64]";
    const std::string turned = "float[2, 12, 64, " + sequence + "]";
    const ir::Graph graph = testing::graph_of(
        "g (" + heads + " q, " + turned + " k, " + heads + " v, " + heads + " dy, " + turned +
        " w) => (y, z) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) " + more + " }");
    return seconds(graph, host) < 0.95 * seconds(graph, apart);
  };
  EXPECT_TRUE(faster("512", "z = Relu(dy)"));
  EXPECT_FALSE(faster("80", "z = Relu(dy)"));
  EXPECT_FALSE(faster("512",
                      "dp = MatMul(dy, w) ds = Mul(p, dp) st = Transpose<perm = [0, 1, 3, 2]>(ds) "
                      "t = MatMul(st, q) u = MatMul(ds, v) z = Add(t, u)"));
}

TEST(DeviceKernels, OfAttentionReadAndWriteInAnyOrderAndWidth) {
  const Device device = with_fusion("a100-80", Fusion::Nodes);
  const double plain = seconds(testing::graph_of(kAttention), device);
  const double turned = seconds(testing::graph_of(R"(g (float16[8, 2048, 16, 64] x, float[8, 16, 64, 2048] k,
      float[8, 16, 2048, 64] v) => (float16[8, 2048, 16, 64] z) {
    w = Cast<to = 1>(x) q = Transpose<perm = [0, 2, 1, 3]>(w) s = MatMul(q, k) p = Softmax(s)
    y = MatMul(p, v) t = Transpose<perm = [0, 2, 1, 3]>(y) z = Cast<to = 10>(t) })"),
                                device);
  EXPECT_LT(turned, 1.05 * plain);
}

// 12 bytes for each element of queries pass memory beside the kernel of gradients itself.
TEST(DeviceKernels, OfAttentionAddUpGradientsInMemory) {
  const auto price = [](double memory_rate) {
    Device device = with_fusion("a100-80", Fusion::All);
    device.exchange_bytes_per_cycle *= memory_rate;
    device.cache_bytes = 0;
    return seconds(testing::graph_of(R"(g (float16[8, 16, 4096, 64] q, float16[8, 16, 64, 4096] k,
        float16[8, 16, 4096, 64] v, float16[8, 16, 64, 4096] w, float16[8, 16, 4096, 64] dy,
        float16[8, 16, 4096, 4096] p) => (float16[8, 16, 4096, 64] dv, float16[8, 16, 4096, 64] dq,
        float16[8, 16, 4096, 64] dk) {
      pt = Transpose<perm = [0, 1, 3, 2]>(p) dv = MatMul(pt, dy) dp = MatMul(dy, w) ds = Mul(p, dp)
      dq = MatMul(ds, v) st = Transpose<perm = [0, 1, 3, 2]>(ds) dk = MatMul(st, q) })"),
                   device);
  };
  const Device device = with_fusion("a100-80", Fusion::All);
  const double elements = 8.0 * 16 * 4096 * 64;
  const double bytes_per_second = device.exchange_bytes_per_cycle * device.tiles * device.clock_hertz;
  EXPECT_NEAR(price(1) - price(2), 12 * elements / bytes_per_second / 2, 0.02 * price(1));
}

// Room is left behind the keys of the past.
TEST(DeviceKernels, AppendToWhatNothingElseReads) {
  const std::string inputs = "g (float16[64, 16, 2047, 128] past, float16[64, 16, 1, 128] k) => ";
  const std::string present = "float16[64, 16, 2048, 128] y";
  const ir::Graph append = testing::graph_of(inputs + "(" + present + ") { y = Concat<axis = 2>(past, k) }");
  const ir::Graph before = testing::graph_of(inputs + "(" + present + ") { y = Concat<axis = 2>(k, past) }");
  const Device fused = with_fusion("a100-80", Fusion::All);
  const double copied = seconds(before, fused);
  EXPECT_LT(seconds(append, fused), 0.02 * copied);
  EXPECT_NEAR(seconds(append, with_fusion("a100-80", Fusion::Nodes)), copied, 1e-3 * copied);
  const ir::Graph both = testing::graph_of(inputs + "(" + present + ", float16[64, 16, 2047, 128] z) " +
                                           "{ y = Concat<axis = 2>(past, k) z = Relu(past) }");
  EXPECT_GT(seconds(both, fused), copied);
}

// A causal mask is part of the kernel where nodes are fused; else the kernel computes all scores.
TEST(DeviceKernels, PassOverScoresThatAMaskHides) {
  const auto attention = [](const char* masks) {
    return testing::graph_of(std::string(R"(g (float16[8, 16, 2048, 64] q, float16[8, 16, 64, 2048] k,
        float16[8, 16, 2048, 64] v, bool[2048, 2048] m, float16 low) => (float16[8, 16, 2048, 64] y) {
      s = MatMul(q, k) )") + masks +
                             " p = Softmax(t) y = MatMul(p, v) }");
  };
  const ir::Graph plain = attention("t = Identity(s)");
  const ir::Graph masked = attention("t = Where(m, s, low)");
  const Device fused = with_fusion("a100-80", Fusion::All);
  EXPECT_NEAR(seconds(masked, fused), 0.5 * seconds(plain, fused), 0.1 * seconds(plain, fused));
  const Device apart = with_fusion("a100-80", Fusion::Nodes);
  EXPECT_GE(seconds(masked, apart), seconds(plain, apart));
}

TEST(DeviceKernels, StayOnOneTileWhereWakingTheOthersTakesLonger) {
  const auto relu = [](const char* size) {
    return testing::graph_of(fmt::format("g (float[{0}] x) => (float[{0}] y) {{ y = Relu(x) }}", size));
  };
  const Device woken = with_fusion("a100-80", Fusion::All);
  Device asleep = woken;
  asleep.spread_seconds = 1e-3;
  EXPECT_LT(seconds(relu("64"), asleep), 1e-4);
  EXPECT_NEAR(seconds(relu("1000000000"), asleep), seconds(relu("1000000000"), woken) + 1e-3, 1e-9);
}

}  // namespace
}  // namespace podium::sim
