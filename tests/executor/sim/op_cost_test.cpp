#include "executor/sim/op_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "executor/device/presets.h"
#include "importer/import.h"
#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/error.h"
#include "ir/ops/families.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

using device::Device;
using testing::graph_of;

const Device& preset(std::string_view name) { return *device::find_preset(name); }

// The sum over the ops of a graph given as text.
OpCost cost_of(const std::string& text, const Device& device, int tiles = 0) {
  const ir::Graph graph = graph_of(text);
  OpCost sum;
  for (const ir::Op& op : graph.ops)
    sum += op_cost(ir::TypedOp(graph, op), device, tiles == 0 ? device.tiles : tiles);
  return sum;
}

// Round numbers: 8 tiles of 1 Hz that lose no time between phases.
Device plain_device() {
  Device device = preset("ipu-m2000");
  device.tiles = 8;
  device.clock_hertz = 1;
  device.phase_overhead_cycles = 0;
  device.sync_cycles = 0;
  device.matrix_share = 1;
  return device;
}

TEST(OpCost, OfElementwiseCountsLoadsOperationsAndStores) {
  const OpCost cost =
      cost_of("g (float[16, 10] a, float[16, 10] b) => (float[16, 10] y) { y = Add(a, b) }", plain_device());
  // 160 floats are 80 vectors, 10 a tile, each with two loads, an addition and a store.
  EXPECT_DOUBLE_EQ(cost.compute_cycles, 40);
  EXPECT_DOUBLE_EQ(cost.exchange_cycles, 0);
  EXPECT_DOUBLE_EQ(cost.seconds, 40);
  EXPECT_DOUBLE_EQ(cost.flop, 160);
  EXPECT_DOUBLE_EQ(cost.matrix_flop, 0);
}

// Where units multiply 8 bits twice as fast. Rounded numbers are stored in them.
TEST(OpCost, OfOperandsIn8BitsIsThatOfUnitsFor8Bits) {
  const std::string product = "g (float16[8192, 8192] a, float16[8192, 8192] b) => (float16[8192, 8192] y)";
  const std::string narrow = product + "{ y = MatMul <__operands_type = \"mxfp8\"> (a, b) }";
  const std::string wide = product + "{ y = MatMul (a, b) }";
  const auto ratio = [&](const char* device) {
    return cost_of(narrow, preset(device)).seconds / cost_of(wide, preset(device)).seconds;
  };
  EXPECT_LT(ratio("h100"), 0.6);
  EXPECT_GT(ratio("h100"), 0.5);
  EXPECT_DOUBLE_EQ(ratio("ipu-m2000"), 1);
  ir::Graph graph = graph_of("g (float16[8192, 8192] a) => (float16[8192, 8192] y) { y = Neg (a) }");
  const Device& h100 = preset("h100");
  const auto seconds = [&] { return op_cost(ir::TypedOp(graph, graph.ops[0]), h100, h100.tiles).seconds; };
  const double copied = seconds();
  graph.ops[0].spec = ir::find_op("podium", "RoundToBlocks");
  EXPECT_NEAR(seconds() / copied, 0.75, 0.02);
}

// As they are in a run: what is no MatMul or Gemm, and whole numbers.
TEST(OpCost, OfOperandsThatAreNotIn8BitsIsThatOfThoseThatAreStored) {
  const Device& h100 = preset("h100");
  const std::string image =
      "g (float16[8, 256, 64, 64] a, float16[256, 256, 3, 3] b) => (float16[8, 256, 62, 62] y)";
  EXPECT_DOUBLE_EQ(cost_of(image + "{ y = Conv <__operands_type = \"mxfp8\"> (a, b) }", h100).seconds,
                   cost_of(image + "{ y = Conv (a, b) }", h100).seconds);
  const std::string whole = "g (int32[2048, 2048] a, int32[2048, 2048] b) => (int32[2048, 2048] y)";
  EXPECT_DOUBLE_EQ(cost_of(whole + "{ y = MatMul <__operands_type = \"mxfp8\"> (a, b) }", h100).seconds,
                   cost_of(whole + "{ y = MatMul (a, b) }", h100).seconds);
}

TEST(OpCost, OfABroadcastBringsTheSmallOperandToEveryTile) {
  const OpCost cost =
      cost_of("g (float[16, 10] a, float[10] b) => (float[16, 10] y) { y = Add(a, b) }", plain_device());
  EXPECT_DOUBLE_EQ(cost.exchange_cycles, 10);  // 40 bytes
}

TEST(OpCost, OfHalvesIsHalf) {
  const OpCost cost = cost_of(
      "g (float16[16, 10] a, float16[16, 10] b) => (float16[16, 10] y) { y = Add(a, b) }", plain_device());
  EXPECT_DOUBLE_EQ(cost.compute_cycles, 20);
}

TEST(OpCost, OfATransposeReceivesAndCopiesItsResult) {
  const OpCost cost =
      cost_of("g (float[16, 10] a) => (float[10, 16] y) { y = Transpose(a) }", plain_device());
  EXPECT_DOUBLE_EQ(cost.exchange_cycles, 80 / 4);
  EXPECT_DOUBLE_EQ(cost.compute_cycles, 80 / 8);
  EXPECT_DOUBLE_EQ(cost.temporary_bytes, 640);
}

TEST(OpCost, OfAViewIsNothing) {
  const OpCost cost =
      cost_of("g (float[16, 10] a) => (float[160] y) { y = Flatten <axis = 0> (a) }", preset("ipu-m2000"));
  EXPECT_EQ(cost.seconds, 0);
}

TEST(OpCost, OfAReductionAcrossRowsExchangesPartialSums) {
  const std::string text = "g (float[64, 10] a, int64[1] axes) => (float[A, B] y) { y = ReduceSum(a, axes) }";
  ir::Graph graph = graph_of(text);
  graph[graph.outputs[0]].type = ir::Type::tensor(ir::DataType::Float, {1, 10});
  const OpCost across = op_cost(ir::TypedOp(graph, graph.ops[0]), plain_device(), 8);
  graph[graph.outputs[0]].type = ir::Type::tensor(ir::DataType::Float, {64, 1});
  const OpCost along = op_cost(ir::TypedOp(graph, graph.ops[0]), plain_device(), 8);
  EXPECT_DOUBLE_EQ(across.exchange_cycles, 10);  // ten sums of 4 bytes from every tile
  EXPECT_DOUBLE_EQ(along.exchange_cycles, 8);    // sums of the eight rows that a tile holds
}

TEST(OpCost, OfAMatrixProductIsItsPlan) {
  const OpCost cost = cost_of(
      "g (float[32, 64] a, float[64, 16] b) => (float[32, 16] y) { y = MatMul(a, b) }", plain_device(), 1);
  EXPECT_DOUBLE_EQ(cost.compute_cycles, 1366 + 32 * 64 * 16 / 16 + 3056);
  EXPECT_DOUBLE_EQ(cost.flop, 2 * 32 * 64 * 16);
  EXPECT_DOUBLE_EQ(cost.matrix_flop, cost.flop);
}

TEST(OpCost, OfEqualProductsIsEqualHoweverTheyAreWritten) {
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

TEST(OpCost, OfADepthwiseConvolutionIsNotThatOfPaddedProducts) {
  const Device& device = preset("ipu-m2000");
  const OpCost cost = cost_of(
      "g (float[1, 512, 56, 56] x, float[512, 1, 3, 3] w) => (float[1, 512, 56, 56] y) "
      "{ y = Conv <group = 512, pads = [1, 1, 1, 1]> (x, w) }",
      device);
  EXPECT_EQ(cost.matrix_flop, 0);  // vector units do better than units that take 16 by 16
  EXPECT_DOUBLE_EQ(cost.flop, 2.0 * 512 * 56 * 56 * 9);
}

// As many multiply-adds, in a product of another form.
TEST(OpCost, OfAConvolutionsWeightGradientIsThatOfAProduct) {
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

TEST(OpCost, OfHalfPartialSumsIsLess) {
  const std::string body = "g (float16[4096, 4096] a, float16[4096, 4096] b) => (float16[4096, 4096] y) ";
  ir::Graph graph = graph_of(body + "{ y = MatMul(a, b) }");
  const Device& device = preset("ipu-m2000");
  const double single = op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
  set_attribute(graph.ops[0], "__partials_type", std::string("half"));
  EXPECT_LT(op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds, 0.7 * single);
}

TEST(OpCost, OfARecurrentCellGrowsWithItsSteps) {
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

TEST(OpCost, OfAttentionIsThatOfItsTwoProductsAndTheSoftmax) {
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

TEST(OpCost, OfABranchIsTheDearerOne) {
  const Device& device = preset("ipu-m2000");
  const double branch = cost_of(R"(g (float[64, 64] x, bool c) => (float[64, 64] y) {
    y = If (c) <then_branch = t () => (float[64, 64] a) { a = MatMul(x, x) },
                else_branch = e () => (float[64, 64] d) { d = Neg(x) }> })",
                                device)
                            .seconds;
  EXPECT_DOUBLE_EQ(branch,
                   cost_of("g (float[64, 64] x) => (float[64, 64] y) { y = MatMul(x, x) }", device).seconds);
}

TEST(OpCost, OfALoopIsThatOfItsTrips) {
  const std::string loop = R"( more = Constant <value_int = 1> ()
    start = Cast <to = 9> (more)
    y = Loop (trips, start, x) <body = b (int64 i, bool go, float[64] h) => (bool still, float[64] next) {
      still = Identity(go)
      next = Neg(h) }> })";
  const Device& device = preset("ipu-m2000");
  const double once = cost_of("g (float[64] x) => (float[64] y) { y = Neg(x) }", device).seconds;
  ir::Graph graph = graph_of("g (float[64] x) => (float[64] y) { trips = Constant <value_int = 7> ()" + loop);
  const auto is_loop = [](const ir::Op& op) { return op.is("Loop"); };
  const ir::Op& op = *std::find_if(graph.ops.begin(), graph.ops.end(), is_loop);
  EXPECT_NEAR(op_cost(ir::TypedOp(graph, op), device, device.tiles).seconds, 7 * once, 1e-12);
}

TEST(OpCost, OfWhatOnlyARunTellsIsAnError) {
  EXPECT_THROW(cost_of("g (float[N] x) => (float[N] y) { y = Neg(x) }", preset("ipu-m2000")), Error);
  EXPECT_THROW(cost_of(R"(g (float[64] x, int64 trips, bool start) => (float[64] y) {
    y = Loop (trips, start, x) <body = b (int64 i, bool go, float[64] h) => (bool still, float[64] next) {
      still = Identity(go)
      next = Neg(h) }> })",
                       preset("ipu-m2000")),
               Error);
}

// Measured: 67.1 M elements of a + s * b in 275.7 us (single) and 214.0 us (half), of which 152 us are the
// call.
TEST(OpCost, OfATriadIsNearThatMeasured) {
  const auto triad = [](const std::string& type) {
    return cost_of("g (" + type + "[8192, 8192] a, " + type + "[8192, 8192] b, " + type + " s) => (" + type +
                       "[8192, 8192] y) { p = Mul(b, s) y = Add(a, p) }",
                   preset("ipu-m2000"))
               .seconds +
           152e-6;
  };
  EXPECT_NEAR(triad("float"), 275.7e-6, 0.02 * 275.7e-6);
  EXPECT_NEAR(triad("float16"), 214.0e-6, 0.02 * 214.0e-6);
}

TEST(OpCost, OfAMachineWithSharedMemoryIsARoofline) {
  Device gpu = preset("gpu-node-8");
  gpu.phase_overhead_cycles = 0;
  gpu.cache_bytes = 0;
  const double memory_rate = gpu.exchange_bytes_per_cycle * gpu.tiles * gpu.clock_hertz;
  const OpCost add =
      cost_of("g (float[1024, 1024] a, float[1024, 1024] b) => (float[1024, 1024] y) { y = Add(a, b) }", gpu);
  EXPECT_NEAR(add.seconds, 3 * 4 * 1024 * 1024 / memory_rate, 1e-9);
  gpu.cache_bytes = 1 << 30;
  const OpCost cached =
      cost_of("g (float[1024, 1024] a, float[1024, 1024] b) => (float[1024, 1024] y) { y = Add(a, b) }", gpu);
  EXPECT_NEAR(cached.seconds, add.seconds / gpu.cache_speed, 1e-9);
}

TEST(OpCost, OfRowsThatAreLookedUpDoesNotGrowWithTheTable) {
  const auto seconds = [&](int rows) {
    return cost_of(fmt::format("g (float[{}, 768] table, int64[128] ids) => (float[128, 768] y)"
                               " {{ y = Gather(table, ids) }}",
                               rows),
                   preset("h100"))
        .seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(1'000), seconds(1'000'000));
  EXPECT_GT(seconds(1'000), seconds(1));  // of which less is read
}

TEST(OpCost, OfALongProductIsItsShareOfThePeak) {
  const Device& gpu = preset("gpu-node-8");
  const OpCost product = cost_of(
      "g (float16[8192, 8192] a, float16[8192, 8192] b) => (float16[8192, 8192] y) { y = MatMul(a, b) }",
      gpu);
  EXPECT_GT(product.seconds, product.ideal_seconds / gpu.matrix_share);
  EXPECT_LT(product.seconds, 1.05 * product.ideal_seconds / gpu.matrix_share);
}

// Keys and values of the past are read; those that are new are written behind them.
TEST(OpCost, OfAttentionWithAPastWritesWhatIsNewWhereKernelsAreFused) {
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
TEST(OpCost, OfAttentionInOneKernelReadsNoScores) {
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

TEST(OpCost, OfAWholeNumberOfProductsHasNoPartOfOne) {
  const auto seconds = [](int size) {
    const std::string n = std::to_string(size);
    return cost_of("g (float[32, 250, " + n + "] a, float[" + n + ", " + n + "] b) => (float[32, 250, " + n +
                       "] y) { y = MatMul(a, b) }",
                   preset("ipu-m2000"))
        .seconds;
  };
  EXPECT_LT(std::abs(seconds(210) / seconds(212) - 1), 0.15);
}

TEST(OpCost, OfWhatComesWithTheProgramIsNothing) {
  ir::Graph graph = graph_of("g (float[64] a) => (float[64] y) { y = Exp(a) }");
  ir::set_attribute(graph.ops[0], ir::kLoadedWithProgram, std::int64_t{1});
  EXPECT_EQ(op_cost(ir::TypedOp(graph, graph.ops[0]), plain_device(), 8).seconds, 0);
}

TEST(PeakFlop, IsTheDataSheets) {
  EXPECT_NEAR(peak_flop_per_second(preset("ipu-m2000"), ir::DataType::Float16), 250e12, 1e12);
  EXPECT_NEAR(peak_flop_per_second(preset("ipu-m2000"), ir::DataType::Float), 62.5e12, 0.2e12);
  EXPECT_NEAR(peak_flop_per_second(preset("gpu-node-8"), ir::DataType::Float16), 312e12, 1e12);
}

// Measured: 7.76 TF of a triad written by hand in single precision, a multiply-add for each element.
TEST(PeakFlop, OfVectorUnitsIsThatOfATriadByHand) {
  Device device = preset("ipu-m2000");
  device.matrix.single = device.vector_bytes_per_cycle / sizeof(float);  // without matrix units
  EXPECT_NEAR(peak_flop_per_second(device, ir::DataType::Float), 7.76e12, 0.01 * 7.76e12);
}

std::vector<std::string> model_files(const std::string& folders) {
  std::vector<std::string> files;
  std::stringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void check_costs(const ir::Graph& graph, const std::string& file, std::set<const ir::OpSpec*>& costed) {
  for (const ir::Op& op : graph.ops) {
    for_each_body(op, [&](std::string_view, const ir::Graph& body) { check_costs(body, file, costed); });
    for (std::string_view name : {"ipu-m2000", "gpu-node-8"}) {
      try {
        const OpCost cost = op_cost(ir::TypedOp(graph, op), preset(name), preset(name).tiles);
        EXPECT_TRUE(std::isfinite(cost.seconds) && cost.seconds >= 0) << file << " " << graph.describe(op);
        EXPECT_LT(cost.seconds, 0.1) << file << " " << graph.describe(op);
        EXPECT_LE(cost.matrix_flop, cost.flop) << file << " " << graph.describe(op);
        costed.insert(op.spec);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("known only by a run"), std::string::npos)
            << file << error.what();
      }
    }
  }
}

// A value for an attribute that an op cannot be without.
ir::AttributeValue some_value(ir::AttributeKind kind) {
  if (kind == ir::AttributeKind::Floats) return ir::FloatList{1, 1};
  if (kind == ir::AttributeKind::Ints) return ir::IntList{1, 1};
  return std::int64_t{1};
}

// The op with [8, 4, 16] for every input that it needs and every output; of attention [8, 4, 16, 16], whose
// heads an axis counts.
OpCost cost_on_small_tensors(const ir::OpSpec& spec) {
  ir::Op op{.spec = &spec};
  for (const auto& input : spec.inputs)
    op.inputs.push_back(input.formal == ir::Formal::Optional ? ir::kNoValue : ir::ValueId{0});
  op.outputs.resize(spec.outputs.size(), ir::ValueId{0});
  for (const ir::AttributeSpec& attribute : spec.attributes) {
    if (attribute.required) set_attribute(op, attribute.name, some_value(attribute.kind));
  }
  ir::TypedOp typed(op);
  ir::Dims dims{8, 4, 16};
  if (spec.category == ir::Category::Attention) dims.push_back(16);
  typed.input_types.assign(op.inputs.size(), ir::Type::tensor(ir::DataType::Float, dims));
  typed.output_types.assign(op.outputs.size(), ir::Type::tensor(ir::DataType::Float, dims));
  return op_cost(typed, preset("ipu-m2000"), 1472);
}

// ONNX's own cases, and what they do not contain on small tensors. Bodies have tests of their own; a gradient
// that waits is the cost of the op that its attributes name.
TEST(OpCost, IsKnownForEveryOpOfTheTable) {
  std::set<const ir::OpSpec*> costed;
  for (const std::string& file : model_files(PODIUM_CASES)) {
    try {
      ir::Graph graph = importer::import_model(file).graph;
      ir::infer(graph);
      check_costs(graph, file, costed);
    } catch (const Error&) {
      continue;  // a model that cannot be read without what is fed
    }
  }
  EXPECT_GT(costed.size(), 120U);
  for (const ir::OpSpec* spec : ir::all_ops()) {
    const bool is_engines_own = std::any_of(ir::fused_ops().begin(), ir::fused_ops().end(),
                                            [&](const ir::OpSpec& fused) { return &fused == spec; });
    const bool stands_for_others =
        spec->name == "Loop" || spec->name == "SequenceMap" || spec->name == "LateGradient";
    if (is_engines_own || costed.contains(spec) || stands_for_others) continue;
    const double seconds = cost_on_small_tensors(*spec).seconds;
    EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0 && seconds < 0.1) << spec->name << " " << seconds;
  }
}

// Slow units, so that computing decides: a product of one row does not pay for a piece of sixteen.
TEST(OpCost, OfFewRowsOnSharedMemoryIsThatOfItsMultiplyAdds) {
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

TEST(OpCost, OfACellFindsItsWeightsInTheCacheAfterTheFirstStep) {
  const std::string lstm =
      "g (float[64, 1, 8] x, float[1, 1024, 8] w, float[1, 1024, 256] r) => (y, float[1, 1, 256] h) "
      "{ y, h = LSTM <hidden_size = 256> (x, w, r) }";
  Device device = preset("a100-80");
  const double cached = cost_of(lstm, device).seconds;
  device.cache_bytes = 0;
  EXPECT_GT(cost_of(lstm, device).seconds, cached);
}

TEST(OpCost, OfAConvolutionGoesWithItsShareOfTheRateOfProducts) {
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
TEST(OpCost, OfAConvolutionOfFewChannelsGoesByItsRows) {
  const auto seconds = [](device::ProcessorKind kind, int channels, int image) {
    Device device = preset("a100-80");
    device.kind = kind;
    device.phase_overhead_cycles = 0;
    device.matrix_overhead_single_cycles = 0;
    device.exchange_bytes_per_cycle *= 1e6;
    const ir::Graph graph = graph_of(
        fmt::format("g (float[100, 64, {0}, {0}] x, float[{1}, 64, 5, 5] w) => (y) {{ y = Conv (x, w) }}",
                    image, channels));
    return op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
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
TEST(OpCost, OfADepthwiseConvolutionInTrainingGoesByItsPlanes) {
  const auto seconds = [](int side, int kernel) {
    Device device = preset("a100-80");
    device.kind = device::ProcessorKind::Cpu;
    device.phase_overhead_cycles = 0;
    device.exchange_bytes_per_cycle *= 1e6;
    const ir::Graph graph = graph_of(fmt::format(
        "g (float[8, 64, {0}, {1}] x, float[64, 1, {2}, {2}] w) => (y) {{ y = Conv <group = 64> (x, w) }}",
        15 + kernel, side + kernel - 1, kernel));
    return op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
  };
  EXPECT_NEAR(seconds(14, 5) / seconds(16, 5), 1, 1e-3);
  EXPECT_NEAR(seconds(24, 5) / seconds(16, 5), 1.5, 1e-2);
  EXPECT_NEAR(seconds(16, 5) / seconds(16, 1), 25, 2);
}

// Of 3 x 3 pixels at a stride of 1, over enough channels, and where weights are transformed in each run with
// enough results.
TEST(OpCost, OfAConvolutionByWinogradGoesWithItsOwnShare) {
  const auto is_slowed = [](const ir::Graph& graph) {
    const auto seconds = [&](double share) {
      Device device = preset("a100-80");
      device.winograd_share = share;
      return op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
    };
    return seconds(0.1) > 3 * seconds(0);
  };
  const auto conv = [](int batch, int channels, int image, const std::string& more = "") {
    return graph_of(
        fmt::format("g (float[{0}, {1}, {2}, {2}] x, float[{1}, {1}, 3, 3] w) => (y) "
                    "{{ y = Conv <pads = [1, 1, 1, 1] {3}> (x, w) }}",
                    batch, channels, image, more));
  };
  const auto known = [](ir::Graph graph) {
    const ir::ValueId weights = graph.inputs[1];
    graph[weights].constant = ir::Tensor(ir::DataType::Float, graph[weights].type.dims);
    return graph;
  };
  EXPECT_TRUE(is_slowed(known(conv(8, 64, 56))));
  EXPECT_TRUE(is_slowed(conv(8, 64, 56)));
  EXPECT_FALSE(is_slowed(known(conv(8, 64, 56, ", strides = [2, 2]"))));
  EXPECT_FALSE(is_slowed(known(conv(8, 64, 56, ", dilations = [2, 2]"))));
  EXPECT_FALSE(is_slowed(known(conv(8, 8, 56))));
  EXPECT_FALSE(is_slowed(known(conv(8, 16, 56))));
  EXPECT_TRUE(is_slowed(known(conv(8, 32, 56))));
  EXPECT_FALSE(is_slowed(conv(8, 16, 56)));
  EXPECT_TRUE(is_slowed(known(conv(2, 1024, 5))));
  EXPECT_FALSE(is_slowed(known(conv(1, 1024, 5))));
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
// back.
TEST(OpCost, OfAConvolutionInTrainingOnTheHostHoldsTheMovesOfItsOperands) {
  Device device = preset("a100-80");
  device.kind = device::ProcessorKind::Cpu;
  device.cache_bytes = 0;
  device.convolution_share = 1;
  device.matrix_weights_single_cycles = 0;
  const auto more_in_training = [&](int side) {
    ir::Graph graph = graph_of(fmt::format(
        "g (float[8, 64, 56, 56] x, float[64, 64, {0}, {0}] w) => (y) {{ y = Conv (x, w) }}", side));
    const auto seconds = [&] {
      return op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds;
    };
    const double in_training = seconds();
    const ir::ValueId weights = graph.inputs[1];
    graph[weights].constant = ir::Tensor(ir::DataType::Float, graph[weights].type.dims);
    return in_training - seconds();
  };
  constexpr double kBytes = 2.0 * 4 * 8 * 64 * (56 * 56 + 54 * 54);
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
TEST(OpCost, OfAWindowOfOneElementInTrainingIsAProductOfEachImage) {
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
TEST(OpCost, OfATransposedConvolutionOnTheHostIsOfItsResultsChannels) {
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
TEST(OpCost, OfAProductOnTheHostWaitsForItsResultsToBeStored) {
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
TEST(OpCost, OfAProductOnTheHostFindsItsOperandsInTheCache) {
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

// On shared memory: weights that are known before the run lie packed.
TEST(OpCost, OfWeightsThatChangeHoldsTheirPacking) {
  const std::string varying =
      "g (float[64, 512] x, float[512, 512] w) => (float[64, 512] y) { y = MatMul(x, w) }";
  Device device = preset("a100-80");
  const double before = cost_of(varying, device).seconds;
  device.matrix_weights_single_cycles = 1e6;
  EXPECT_GT(cost_of(varying, device).seconds, 10 * before);
  ir::Graph graph = graph_of(varying);
  const ir::ValueId weights = graph.inputs[1];
  graph[weights].constant = ir::Tensor(ir::DataType::Float, {512, 512});
  EXPECT_NEAR(op_cost(ir::TypedOp(graph, graph.ops[0]), device, device.tiles).seconds, before, 1e-12);
}

}  // namespace
}  // namespace podium::sim
