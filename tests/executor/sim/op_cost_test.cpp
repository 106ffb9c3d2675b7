#include "executor/sim/op_cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "executor/device/presets.h"
#include "importer/import.h"
#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/ops/families.h"
#include "tests/executor/sim/cost_of.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

using device::Device;
using testing::cost_of;
using testing::graph_of;
using testing::plain_device;
using testing::preset;

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

}  // namespace
}  // namespace podium::sim
