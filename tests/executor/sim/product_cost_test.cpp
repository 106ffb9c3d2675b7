#include "executor/sim/product_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/late_tensor.h"
#include "ir/ops/conv_algorithm.h"
#include "tests/executor/sim/cost_of.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

using device::Device;
using testing::cost_of;
using testing::graph_of;
using testing::plain_device;
using testing::preset;

// Weights, the second input, that never change.
ir::Graph with_known_weights(ir::Graph graph) {
  const ir::ValueId weights = graph.inputs[1];
  graph[weights].constant = ir::Tensor(graph[weights].type.element, graph[weights].type.dims);
  return graph;
}

TEST(ProductCost, OfAMatrixProductIsItsPlan) {
  const OpCost cost = cost_of(
      "g (float[32, 64] a, float[64, 16] b) => (float[32, 16] y) { y = MatMul(a, b) }", plain_device(), 1);
  EXPECT_DOUBLE_EQ(cost.compute_cycles, 1366 + 32 * 64 * 16 / 16 + 3056);
  EXPECT_DOUBLE_EQ(cost.flop, 2 * 32 * 64 * 16);
  EXPECT_DOUBLE_EQ(cost.matrix_flop, cost.flop);
}

TEST(ProductCost, OfEqualProductsIsEqualHoweverTheyAreWritten) {
  const Device& device = preset("ipu-m2000");
  const double matmul =
      cost_of("g (float[384, 1024] a, float[1024, 512] b) => (float[384, 512] y) { y = MatMul(a, b) }",
              device)
          .seconds;
  EXPECT_DOUBLE_EQ(cost_of("g (float[1024, 384] a, float[512, 1024] b) => (float[384, 512] y) "
                           "{ y = Gemm <transA = 1, transB = 1> (a, b) }",
                           device)
                       .seconds,
                   matmul);
  EXPECT_DOUBLE_EQ(
      cost_of("g (float[3, 128, 1024] a, float[1024, 512] b) => (float[3, 128, 512] y) { y = MatMul(a, b) }",
              device)
          .seconds,
      matmul);
  EXPECT_DOUBLE_EQ(cost_of("g (float[384, 1024] a, float[1024, 512] b) => (float[384, 512] y) "
                           "{ y = Einsum <equation = \"ik,kj->ij\"> (a, b) }",
                           device)
                       .seconds,
                   matmul);
  EXPECT_DOUBLE_EQ(cost_of("g (float[384, 1024, 1, 1] x, float[512, 1024, 1, 1] w) => (float[384, 512, 1, 1] "
                           "y) { y = Conv(x, w) }",
                           device)
                       .seconds,
                   matmul);
}

TEST(ProductCost, OfADepthwiseConvolutionIsNotThatOfPaddedProducts) {
  const Device& device = preset("ipu-m2000");
  const OpCost cost = cost_of(
      "g (float[1, 512, 56, 56] x, float[512, 1, 3, 3] w) => (float[1, 512, 56, 56] y) "
      "{ y = Conv <group = 512, pads = [1, 1, 1, 1]> (x, w) }",
      device);
  EXPECT_EQ(cost.matrix_flop, 0);  // vector units do better than units that take 16 by 16
  EXPECT_DOUBLE_EQ(cost.flop, 2.0 * 512 * 56 * 56 * 9);
}

// As many multiply-adds, in a product of another form.
TEST(ProductCost, OfAConvolutionsWeightGradientIsThatOfAProduct) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const auto input = [&](ir::Dims dims) {
    return builder.input("x", ir::Type::tensor(ir::DataType::Float, std::move(dims)));
  };
  const ir::ValueId x = input({16, 64, 56, 56});
  const ir::ValueId y = builder.op("Conv", {x, input({64, 64, 3, 3})}, {{"pads", ir::IntList{1, 1, 1, 1}}});
  builder.ops("podium", "ConvWeightGradient", {x, y}, 1,
              {{"kernel_shape", ir::IntList{3, 3}},
               {"strides", ir::IntList{1, 1}},
               {"dilations", ir::IntList{1, 1}},
               {"pads", ir::IntList{1, 1, 1, 1}}});
  const Device& device = preset("ipu-m2000");
  const auto cost = [&](std::size_t i) {
    return op_cost(ir::TypedOp(graph, graph.ops[i]), device, device.tiles);
  };
  EXPECT_EQ(cost(1).matrix_flop, cost(0).matrix_flop);
  EXPECT_GT(cost(1).seconds, cost(0).seconds / 2);
  EXPECT_LT(cost(1).seconds, cost(0).seconds * 4);
}

TEST(ProductCost, OfHalfPartialSumsIsLess) {
  const std::string body = "g (float16[4096, 4096] a, float16[4096, 4096] b) => (float16[4096, 4096] y) ";
  ir::Graph graph = graph_of(body + "{ y = MatMul(a, b) }");
  const Device& device = preset("ipu-m2000");
  const double single = cost_of(graph, device).seconds;
  set_attribute(graph.ops[0], "__partials_type", std::string("half"));
  EXPECT_LT(cost_of(graph, device).seconds, 0.7 * single);
}

TEST(ProductCost, OfARecurrentCellGrowsWithItsSteps) {
  const auto lstm = [](int steps) {
    return cost_of("g (float[" + std::to_string(steps) +
                       ", 8, 128] x, float[1, 1024, 128] w, float[1, 1024, 256] r) "
                       "=> (float[" +
                       std::to_string(steps) + ", 1, 8, 256] y) { y = LSTM <hidden_size = 256> (x, w, r) }",
                   preset("ipu-m2000"));
  };
  EXPECT_GT(lstm(64).seconds, 6 * lstm(8).seconds);
  EXPECT_LT(lstm(64).seconds, 9 * lstm(8).seconds);
  EXPECT_DOUBLE_EQ(lstm(8).matrix_flop, 2.0 * 8 * 8 * 1024 * (128 + 256));
}

TEST(ProductCost, OfAttentionIsThatOfItsTwoProductsAndTheSoftmax) {
  const Device& device = preset("ipu-m2000");
  const OpCost attention = cost_of(
      "g (float[2, 12, 128, 64] q, float[2, 12, 128, 64] k, float[2, 12, 128, 64] v) "
      "=> (float[2, 12, 128, 64] y) { y = Attention(q, k, v) }",
      device);
  const OpCost products = cost_of(
      "g (float[2, 12, 128, 64] q, float[2, 12, 64, 128] k, float[2, 12, 128, 64] v) "
      "=> (float[2, 12, 128, 64] y) { s = MatMul(q, k) y = MatMul(s, v) }",
      device);
  EXPECT_DOUBLE_EQ(attention.matrix_flop, products.matrix_flop);
  EXPECT_GT(attention.seconds, products.seconds);
}

TEST(ProductCost, OfALongProductIsItsShareOfThePeak) {
  const Device& gpu = preset("gpu-node-8");
  const OpCost product = cost_of(
      "g (float16[8192, 8192] a, float16[8192, 8192] b) => (float16[8192, 8192] y) { y = MatMul(a, b) }",
      gpu);
  EXPECT_GT(product.seconds, product.ideal_seconds / gpu.matrix_share);
  EXPECT_LT(product.seconds, 1.05 * product.ideal_seconds / gpu.matrix_share);
}

// Keys and values of the past are read; those that are new are written behind them.
TEST(ProductCost, OfAttentionWithAPastWritesWhatIsNewWhereKernelsAreFused) {
  const ir::Graph graph = testing::graph_of(
      "g (float16[64, 16, 1, 128] q, float16[64, 16, 1, 128] k, float16[64, 16, 1, 128] v, "
      "float16[64, 16, 2047, 128] a, float16[64, 16, 2047, 128] b) => (float16[64, 16, 1, 128] y, "
      "float16[64, 16, 2048, 128] c, float16[64, 16, 2048, 128] d) { y, c, d = Attention(q, k, v, , a, b) }");
  device::Device device = preset("a100-80");
  device.fusion = device::Fusion::All;
  const ir::TypedOp op(graph, graph.ops[0]);
  const double appended = op_cost(op, device, device.tiles).seconds;
  device.fusion = device::Fusion::Nodes;
  EXPECT_NEAR(op_cost(op, device, device.tiles).seconds, 2 * appended, 0.05 * appended);
}

// Causal attention computes half as much.
TEST(ProductCost, OfAttentionInOneKernelReadsNoScores) {
  const auto attention = [](const std::string& attributes) {
    return cost_of(
        "g (float16[2, 16, 4096, 128] q, float16[2, 16, 4096, 128] k, float16[2, 16, 4096, 128] v) => "
        "(float16[2, 16, 4096, 128] y) { y = Attention" +
            attributes + "(q, k, v) }",
        preset("h100"));
  };
  const OpCost full = attention("");
  const OpCost causal = attention(" <is_causal = 1>");
  EXPECT_DOUBLE_EQ(full.flop, 4.0 * 2 * 16 * 4096 * 4096 * 128);
  EXPECT_DOUBLE_EQ(causal.flop, full.flop / 2);
  EXPECT_LT(causal.seconds, 0.6 * full.seconds);
  EXPECT_GT(full.flop / full.seconds, 0.5 * preset("h100").attention_share * 989e12);
}

TEST(ProductCost, OfAWholeNumberOfProductsHasNoPartOfOne) {
  const auto seconds = [](int size) {
    const std::string n = std::to_string(size);
    return cost_of("g (float[32, 250, " + n + "] a, float[" + n + ", " + n + "] b) => (float[32, 250, " + n +
                       "] y) { y = MatMul(a, b) }",
                   preset("ipu-m2000"))
        .seconds;
  };
  EXPECT_LT(std::abs(seconds(210) / seconds(212) - 1), 0.15);
}

// Slow units, so that computing decides: a product of one row does not pay for a piece of sixteen.
TEST(ProductCost, OfFewRowsOnSharedMemoryIsThatOfItsMultiplyAdds) {
  Device device = preset("a100-80");
  device.matrix.single = 1e-2;
  device.matrix_overhead_single_cycles = device.phase_overhead_cycles = 0;
  const auto rows = [&](int count) {
    const std::string text = fmt::format(
        "g (float[{0}, 512] x, float[512, 512] w) => (float[{0}, 512] y) {{ y = MatMul(x, w) }}", count);
    return cost_of(text, device).seconds;
  };
  EXPECT_NEAR(rows(8), 8 * rows(1), 1e-9 * rows(8));
  EXPECT_GT(rows(16), rows(8));
}

TEST(ProductCost, OfACellFindsItsWeightsInTheCacheAfterTheFirstStep) {
  const std::string lstm =
      "g (float[64, 1, 8] x, float[1, 1024, 8] w, float[1, 1024, 256] r) => (y, float[1, 1, 256] h) "
      "{ y, h = LSTM <hidden_size = 256> (x, w, r) }";
  Device device = preset("a100-80");
  const double cached = cost_of(lstm, device).seconds;
  device.cache_bytes = 0;
  EXPECT_GT(cost_of(lstm, device).seconds, cached);
}

TEST(ProductCost, OfAConvolutionGoesWithItsShareOfTheRateOfProducts) {
  const std::string conv =
      "g (float[8, 64, 56, 56] x, float[64, 64, 3, 3] w) => (float[8, 64, 56, 56] y) "
      "{ y = Conv <pads = [1, 1, 1, 1]> (x, w) }";
  const std::string product =
      "g (float[1024, 1024] x, float[1024, 1024] w) => (float[1024, 1024] y) { y = MatMul(x, w) }";
  Device device = preset("a100-80");
  const double before = cost_of(conv, device).seconds;
  const double beside = cost_of(product, device).seconds;
  device.convolution_share = 0.25;
  EXPECT_GT(cost_of(conv, device).seconds, 3 * before);
  EXPECT_EQ(cost_of(product, device).seconds, beside);
}

// On the host alone, where vectors of 16 channels would stay half empty: 10 channels take as long as 10, not
// as 16, and rows of 12 results as long as 16.
TEST(ProductCost, OfAConvolutionOfFewChannelsGoesByItsRows) {
  const auto seconds = [](device::ProcessorKind kind, int channels, int image) {
    Device device = preset("a100-80");
    device.kind = kind;
    device.phase_overhead_cycles = 0;
    device.matrix_overhead_single_cycles = 0;
    device.exchange_bytes_per_cycle *= 1e6;
    const ir::Graph graph = graph_of(
        fmt::format("g (float[100, 64, {0}, {0}] x, float[{1}, 64, 5, 5] w) => (y) {{ y = Conv (x, w) }}",
                    image, channels));
    return cost_of(graph, device).seconds;
  };
  const auto on_host = [&](int channels, int image) {
    return seconds(device::ProcessorKind::Cpu, channels, image);
  };
  EXPECT_NEAR(on_host(10, 28) / on_host(5, 28), 2, 1e-6);
  EXPECT_NEAR(on_host(10, 20) / on_host(10, 16), 4.0 / 3, 1e-6);  // 16 rows of two vectors, 12 of two
  EXPECT_NEAR(seconds(device::ProcessorKind::Gpu, 10, 28) / seconds(device::ProcessorKind::Gpu, 16, 28), 1,
              0.01);
}

// On the host: rows of 14 results take as long as 16, and 25 taps 25 times as long as one.
TEST(ProductCost, OfADepthwiseConvolutionInTrainingGoesByItsPlanes) {
  const auto seconds = [](int side, int kernel) {
    Device device = preset("a100-80");
    device.kind = device::ProcessorKind::Cpu;
    device.phase_overhead_cycles = 0;
    device.exchange_bytes_per_cycle *= 1e6;
    const ir::Graph graph = graph_of(fmt::format(
        "g (float[8, 64, {0}, {1}] x, float[64, 1, {2}, {2}] w) => (y) {{ y = Conv <group = 64> (x, w) }}",
        15 + kernel, side + kernel - 1, kernel));
    return cost_of(graph, device).seconds;
  };
  EXPECT_NEAR(seconds(14, 5) / seconds(16, 5), 1, 1e-3);
  EXPECT_NEAR(seconds(24, 5) / seconds(16, 5), 1.5, 1e-2);
  EXPECT_NEAR(seconds(16, 5) / seconds(16, 1), 25, 2);
}

// Of 3 x 3 pixels at a stride of 1, over enough channels, and where weights are transformed in each run with
// enough results.
TEST(ProductCost, OfAConvolutionByWinogradGoesWithItsOwnShare) {
  const auto is_slowed = [](const ir::Graph& graph) {
    const auto seconds = [&](double share) {
      Device device = preset("a100-80");
      device.winograd_share = share;
      return cost_of(graph, device).seconds;
    };
    return seconds(0.1) > 3 * seconds(0);
  };
  const auto conv = [](int batch, int channels, int image, const std::string& more = "") {
    return graph_of(
        fmt::format("g (float[{0}, {1}, {2}, {2}] x, float[{1}, {1}, 3, 3] w) => (y) "
                    "{{ y = Conv <pads = [1, 1, 1, 1] {3}> (x, w) }}",
                    batch, channels, image, more));
  };
  EXPECT_TRUE(is_slowed(with_known_weights(conv(8, 64, 56))));
  EXPECT_TRUE(is_slowed(conv(8, 64, 56)));
  EXPECT_FALSE(is_slowed(with_known_weights(conv(8, 64, 56, ", strides = [2, 2]"))));
  EXPECT_FALSE(is_slowed(with_known_weights(conv(8, 64, 56, ", dilations = [2, 2]"))));
  EXPECT_FALSE(is_slowed(with_known_weights(conv(8, 8, 56))));
  EXPECT_FALSE(is_slowed(with_known_weights(conv(8, 16, 56))));
  EXPECT_TRUE(is_slowed(with_known_weights(conv(8, 32, 56))));
  EXPECT_FALSE(is_slowed(conv(8, 16, 56)));
  EXPECT_TRUE(is_slowed(with_known_weights(conv(2, 1024, 5))));
  EXPECT_FALSE(is_slowed(with_known_weights(conv(1, 1024, 5))));
  EXPECT_FALSE(is_slowed(conv(4, 1024, 5)));
  EXPECT_TRUE(
      is_slowed(graph_of("g (float[8, 64, 56, 56] x, float[64, 32, 3, 3] w) => (y) "
                         "{ y = ConvTranspose <pads = [1, 1, 1, 1]> (x, w) }")));
  ir::Graph gradient;
  ir::Builder builder(gradient);
  builder.ops("podium", "ConvWeightGradient",
              {builder.input("x", ir::Type::tensor(ir::DataType::Float, {8, 64, 56, 56})),
               builder.input("flow", ir::Type::tensor(ir::DataType::Float, {8, 32, 56, 56}))},
              1,
              {{"kernel_shape", ir::IntList{3, 3}},
               {"strides", ir::IntList{1, 1}},
               {"dilations", ir::IntList{1, 1}},
               {"pads", ir::IntList{1, 1, 1, 1}}});
  EXPECT_TRUE(is_slowed(gradient));
}

// A library on the host brings what a convolution in training reads and makes into blocks of channels and
// back, and its weights.
TEST(ProductCost, OfAConvolutionInTrainingOnTheHostHoldsTheMovesOfItsOperands) {
  Device device = preset("a100-80");
  device.kind = device::ProcessorKind::Cpu;
  device.cache_bytes = 0;
  device.convolution_share = 1;
  device.matrix_weights_single_cycles = 0;
  const auto more_in_training = [&](int side) {
    const ir::Graph graph = graph_of(fmt::format(
        "g (float[8, 64, 56, 56] x, float[64, 64, {0}, {0}] w) => (y) {{ y = Conv (x, w) }}", side));
    return cost_of(graph, device).seconds - cost_of(with_known_weights(graph), device).seconds;
  };
  constexpr double kBytes = 2.0 * 4 * (8 * 64 * (56 * 56 + 54 * 54) + 64 * 64 * 3 * 3);
  const double moves = kBytes / device.exchange_bytes_per_cycle / device.tiles / device.clock_hertz;
  EXPECT_NEAR(more_in_training(3), moves, 1e-6 * moves);
  EXPECT_NEAR(more_in_training(1), 0, 1e-6 * moves);
}

// A CPU with memory at the rate that is given, and with nothing beside products that takes time.
Device plain_cpu(double bytes_per_cycle) {
  Device device = preset("a100-80");
  device.kind = device::ProcessorKind::Cpu;
  device.cache_bytes = 0;
  device.convolution_share = 1;
  device.matrix_fill = device.phase_overhead_cycles = device.matrix_overhead_single_cycles = 0;
  device.matrix_weights_single_cycles = 0;
  device.exchange_bytes_per_cycle = bytes_per_cycle;
  return device;
}

constexpr double kMemoryOfNoTime = 1e9;

// Vectors hold elements of an image: 49 take as long as 64. Where the weights fill a cache, the 196 of four
// images lie side by side, and take as long as 208.
TEST(ProductCost, OfAWindowOfOneElementInTrainingIsAProductOfEachImage) {
  const auto seconds = [](int channels, int side) {
    return cost_of(fmt::format(
                       "g (float[4, {0}, {1}, {1}] x, float[{0}, {0}, 1, 1] w) => (y) {{ y = Conv (x, w) }}",
                       channels, side),
                   plain_cpu(kMemoryOfNoTime))
        .seconds;
  };
  EXPECT_NEAR(seconds(64, 7) / seconds(64, 8), 1, 1e-6);
  EXPECT_NEAR(seconds(64, 28) / seconds(64, 8), 784.0 / 64, 1e-6);
  EXPECT_NEAR(seconds(512, 7) / seconds(512, 8), 208.0 / 256, 1e-6);
}

// Results of 10 channels take as long as of 16.
TEST(ProductCost, OfATransposedConvolutionOnTheHostIsOfItsResultsChannels) {
  const auto seconds = [](int channels) {
    return cost_of(
               fmt::format(
                   "g (float[4, 64, 16, 16] x, float[64, {}, 5, 5] w) => (y) {{ y = ConvTranspose (x, w) }}",
                   channels),
               plain_cpu(kMemoryOfNoTime))
        .seconds;
  };
  EXPECT_NEAR(seconds(42) / seconds(48), 1, 1e-6);
  EXPECT_NEAR(seconds(96) / seconds(48), 2, 1e-6);
}

// Beside what the multiply-adds take.
TEST(ProductCost, OfAProductOnTheHostWaitsForItsResultsToBeStored) {
  const std::string product =
      "g (float[64, 512] x, float[512, 512] w) => (float[64, 512] y) { y = MatMul(x, w) }";
  constexpr double kRate = 1e3;
  Device device = plain_cpu(kRate);
  device.read_speed = 1e6;
  const double stored = 4.0 * 64 * 512 / kRate / device.tiles / device.clock_hertz;
  const double computed = cost_of(product, plain_cpu(kMemoryOfNoTime)).seconds;
  EXPECT_NEAR(cost_of(product, device).seconds / (computed + stored), 1, 1e-5);
}

// Weights that the cache holds come from there, and those of a row are most of what it takes.
TEST(ProductCost, OfAProductOnTheHostFindsItsOperandsInTheCache) {
  const std::string product =
      "g (float[1, 512] x, float[512, 512] w) => (float[1, 512] y) { y = MatMul(x, w) }";
  Device device = plain_cpu(1e-3);
  device.cache_speed = 4;
  const double from_memory = cost_of(product, device).seconds;
  device.cache_bytes = 16 << 20;
  EXPECT_NEAR(from_memory / cost_of(product, device).seconds, 4, 1e-3);
  device.cache_bytes = 2 * (512 * 512 + 512);  // half of the operands
  EXPECT_NEAR(from_memory / cost_of(product, device).seconds, 2 / (1 + 1.0 / 4), 1e-2);
}

// What a thread's own cache holds comes while it multiplies; what lies behind it is waited for.
TEST(ProductCost, OfAProductOnTheHostWaitsForOperandsThatAreNotNear) {
  const std::string product =
      "g (float[64, 512] x, float[512, 512] w) => (float[64, 512] y) { y = MatMul(x, w) }";
  constexpr double kRate = 1;
  constexpr double kRead = 4.0 * (64 * 512 + 512 * 512);
  constexpr double kStored = 4.0 * 64 * 512;
  const double computed = cost_of(product, plain_cpu(kMemoryOfNoTime)).seconds;
  Device device = plain_cpu(kRate);
  const double per_second = kRate * device.tiles * device.clock_hertz;
  EXPECT_NEAR(cost_of(product, device).seconds / (computed + (kRead + kStored) / per_second), 1, 1e-3);
  device.near_cache_bytes = std::llround(kRead / device.tiles);
  device.near_cache_speed = kRead / per_second / computed * 2;  // half as long as computing
  EXPECT_NEAR(cost_of(product, device).seconds / (computed + kStored / per_second), 1, 2e-2);
  device.near_cache_bytes *= 2;
  EXPECT_NEAR(cost_of(product, device).seconds / (computed + kStored / per_second / device.near_cache_speed),
              1, 2e-2);
}

ir::Graph conv_with_known_weights(int channels, int image) {
  return with_known_weights(
      graph_of(fmt::format("g (float[4, {0}, {1}, {1}] x, float[{0}, {0}, 3, 3] w) => (y) "
                           "{{ y = Conv <pads = [1, 1, 1, 1]> (x, w) }}",
                           channels, image)));
}

// Tiles of 4 x 4 are computed whole: 7 x 7 results take as long as 8 x 8. Their products grow with the square
// of the channels, their transforms, which are as much at 24 in and out, with the channels.
TEST(ProductCost, OfAConvolutionByWinogradIsOfWholeTilesAndTheirTransforms) {
  Device device = plain_cpu(kMemoryOfNoTime);
  device.winograd_share = 4;
  const auto seconds = [&](int channels, int image) {
    const ir::Graph graph = conv_with_known_weights(channels, image);
    return cost_of(graph, device).seconds;
  };
  EXPECT_NEAR(seconds(64, 7) / seconds(64, 8), 1, 1e-6);
  EXPECT_NEAR(seconds(64, 16) / seconds(64, 8), 4, 1e-6);
  EXPECT_NEAR(seconds(128, 8) / seconds(64, 8), 4 * (1 + 48.0 / 128) / (1 + 48.0 / 64), 1e-6);
}

// 36 numbers for 9 of the weights come, while others are multiplied.
TEST(ProductCost, OfAConvolutionByWinogradReadsTransformedWeights) {
  const ir::Graph graph = conv_with_known_weights(64, 8);
  constexpr double kRate = 1e-3;
  Device device = plain_cpu(kRate);
  device.winograd_share = 4;
  const double read = 4.0 * (64 * 64 * 36 + 4 * 64 * 8 * 8);
  const double stored = 4.0 * 4 * 64 * 8 * 8;
  EXPECT_NEAR(cost_of(graph, device).seconds * kRate * device.tiles * device.clock_hertz / (read + stored), 1,
              1e-3);
}

// The same product, whose weights a DequantizeLinear makes of numbers of this type.
ir::Graph with_dequantized_weights(ir::Graph graph, ir::DataType narrow) {
  const ir::ValueId weights = graph.inputs[1];
  const ir::Type type = graph[weights].type;
  ir::KnownOp made{.op = {.spec = ir::find_op("", "DequantizeLinear")},
                   .inputs = {ir::Tensor(narrow, type.dims), ir::Tensor(ir::DataType::Float, {1})}};
  graph[weights].constant = ir::late_tensor(
      type, [type] { return ir::Tensor(type.element, type.dims); }, [](ir::Digests&) { return ir::Digest(); },
      std::make_shared<const ir::KnownOp>(std::move(made)));
  return graph;
}

TEST(ProductCost, OfWeightsOfFewBitsOnTheHostHoldsTheirWidening) {
  const ir::Graph graph =
      graph_of("g (float[1, 512] x, float[512, 512] w) => (float[1, 512] y) { y = MatMul(x, w) }");
  const auto seconds = [&](ir::DataType narrow, const Device& device) {
    return cost_of(with_dequantized_weights(graph, narrow), device).seconds;
  };
  const Device computes = plain_cpu(kMemoryOfNoTime);
  const double wide = cost_of(with_known_weights(graph), computes).seconds;
  const double of_bytes = seconds(ir::DataType::Int8, computes) - wide;
  EXPECT_GT(of_bytes, 0);
  EXPECT_NEAR((seconds(ir::DataType::Uint4, computes) - wide) / of_bytes, 2, 1e-6);
  const Device reads = plain_cpu(1e-3);
  constexpr double kOthers = 4.0 * (512 + 512 + 1);  // x, y and the scale
  EXPECT_NEAR(seconds(ir::DataType::Int8, reads) / seconds(ir::DataType::Uint4, reads),
              (512 * 512 + kOthers) / (512 * 256 + kOthers), 1e-3);
}

// On shared memory: weights that are known before the run lie packed.
TEST(ProductCost, OfWeightsThatChangeHoldsTheirPacking) {
  const std::string varying =
      "g (float[64, 512] x, float[512, 512] w) => (float[64, 512] y) { y = MatMul(x, w) }";
  Device device = preset("a100-80");
  const double before = cost_of(varying, device).seconds;
  device.matrix_weights_single_cycles = 1e6;
  EXPECT_GT(cost_of(varying, device).seconds, 10 * before);
  EXPECT_NEAR(cost_of(with_known_weights(graph_of(varying)), device).seconds, before, 1e-12);
}

}  // namespace
}  // namespace podium::sim
