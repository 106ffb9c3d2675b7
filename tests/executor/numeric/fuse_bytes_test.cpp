#include "executor/numeric/fuse_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "executor/kernels/tools/gemm.h"
#include "executor/numeric/channels_last.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::DataType;
using ir::Dims;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

ValueId byte(Sketch& s, DataType type, int value) {
  Tensor tensor(type, {});
  *static_cast<std::int8_t*>(tensor.raw()) = static_cast<std::int8_t>(value);
  return s.graph.add_constant(s.graph.fresh_name("zero"), std::move(tensor));
}

ValueId floats(Sketch& s, const Dims& dims, float first, float step) {
  Tensor tensor(DataType::Float, dims);
  for (float& number : tensor.values<float>()) number = std::exchange(first, first + step);
  return s.graph.add_constant(s.graph.fresh_name("numbers"), std::move(tensor));
}

// All numbers from -128 to 127, in a mixed order.
std::int8_t mixed(int i) { return static_cast<std::int8_t>(i * 37 + i / 256 * 11); }

ValueId whole_weights(Sketch& s, const Dims& dims, float shift = 0) {
  Tensor tensor(DataType::Float, dims);
  int next = 0;
  for (float& number : tensor.values<float>()) number = static_cast<float>(mixed(next++)) + shift;
  return s.graph.add_constant(s.graph.fresh_name("whole"), std::move(tensor));
}

ValueId quantized(Sketch& s, ValueId x, DataType type, int zero, float scale) {
  return s.op("QuantizeLinear", {x, s.number(scale), byte(s, type, zero)});
}

// Bytes as floats, with a scale of one.
ValueId whole(Sketch& s, ValueId x, DataType type, int zero) {
  return s.op("DequantizeLinear", {quantized(s, x, type, zero, 0.01F), s.number(1), byte(s, type, zero)});
}

// What a model's convolution and the ops behind it are after the passes of the IR.
struct QuantizedConv {
  Dims x{2, 6, 9, 11};
  Dims weights{20, 6, 3, 3};
  DataType type = DataType::Uint8;
  int zero = 128;
  IntList pads{1, 1, 1, 1};
  IntList strides{1, 1};
  IntList dilations{1, 1};
  std::int64_t group = 1;
  bool has_scale_of_all = false;
  bool has_bias = true;
  std::string activation = "Relu";
  bool is_quantized_again = true;
};

Dims by_channel(const QuantizedConv& of) {
  Dims dims(of.weights.size() - 1, 1);
  dims[0] = of.weights[0];
  return dims;
}

Sketch sketch_of(const QuantizedConv& of) {
  Sketch s;
  ValueId y =
      s.op("Conv", {whole(s, s.input(of.x), of.type, of.zero), whole_weights(s, of.weights)},
           {{"pads", of.pads}, {"strides", of.strides}, {"dilations", of.dilations}, {"group", of.group}});
  const ValueId scale = of.has_scale_of_all ? s.number(2e-5F) : floats(s, by_channel(of), 1e-5F, 1e-6F);
  y = s.op("Mul", {y, scale});
  if (of.has_bias) y = s.op("Add", {y, floats(s, by_channel(of), -0.5F, 0.07F)});
  if (of.activation == "Relu") y = s.op("Relu", {y});
  if (of.activation == "Clip") y = s.op("Clip", {y, s.number(-0.1F), s.number(0.6F)});
  if (of.is_quantized_again) {
    const ValueId bytes = quantized(s, y, of.type, of.zero, 0.007F);
    y = s.op("DequantizeLinear", {bytes, s.number(0.007F), byte(s, of.type, of.zero)});
  }
  s.output(y);
  return s;
}

ir::Graph fused(ir::Graph graph) {
  channels_last(graph, {});
  make_byte_products(graph);
  fuse_bytes(graph);
  return graph;
}

int count_of(const ir::Graph& graph, std::string_view op) {
  return static_cast<int>(std::ranges::count_if(graph.ops, [&](const ir::Op& one) { return one.is(op); }));
}

const ir::Op* byte_product(const ir::Graph& graph) {
  const auto found = std::ranges::find_if(graph.ops, [](const ir::Op& op) {
    return op.is("ByteConvolution", "podium") || op.is("ByteMatMul", "podium");
  });
  return found == graph.ops.end() ? nullptr : &*found;
}

// Both the sums and what is done with them give the bits of the ops one by one.
void expect_bytes(const Sketch& s) {
  expect_same_when_fused(s.graph, 0);
  const bool multiplies_bytes = byte_product(fused(s.graph)) != nullptr;
  EXPECT_EQ(multiplies_bytes, kernels::has_exact_byte_products()) << ops_of(fused(s.graph));
}

void expect_bytes(const QuantizedConv& of) { expect_bytes(sketch_of(of)); }

TEST(FuseBytes, TakesInWhatStandsBehindAConvolution) {
  if (!kernels::has_exact_byte_products()) GTEST_SKIP() << "no instructions that multiply bytes exactly";
  const ir::Graph graph = fused(sketch_of(QuantizedConv{}).graph);
  for (const char* gone : {"Conv", "Mul", "Add", "Relu"}) EXPECT_EQ(count_of(graph, gone), 0) << gone;
  EXPECT_EQ(count_of(graph, "QuantizeLinear"), 1) << ops_of(graph);
  ASSERT_NE(byte_product(graph), nullptr);
  EXPECT_EQ(graph[byte_product(graph)->outputs[0]].type, ir::Type::tensor(DataType::Uint8, {2, 9, 11, 20}));
}

TEST(FuseBytes, ConvolvesBytesOfEitherSignWithAnyZeroPoint) {
  expect_bytes(QuantizedConv{});
  expect_bytes({.zero = 0});
  expect_bytes({.type = DataType::Int8, .zero = 0, .activation = "Clip"});
  expect_bytes({.type = DataType::Int8, .zero = -7, .has_scale_of_all = true});
}

TEST(FuseBytes, PadsStridesAndDilatesWithTheZeroPoint) {
  expect_bytes({.pads = {2, 0, 1, 3}, .strides = {2, 1}});
  expect_bytes({.pads = {2, 2, 2, 2}, .dilations = {2, 2}, .activation = ""});
}

TEST(FuseBytes, ConvolvesInGroupsAndChannelByChannel) {
  expect_bytes({.weights = {20, 3, 3, 3}, .group = 2});
  expect_bytes({.weights = {6, 1, 3, 3}, .group = 6});
}

TEST(FuseBytes, ConvolvesLinesAndVolumes) {
  expect_bytes({.x = {2, 6, 40},
                .weights = {9, 6, 5},
                .pads = {2, 2},
                .strides = {1},
                .dilations = {1},
                .is_quantized_again = false});
  expect_bytes({.x = {1, 6, 5, 6, 7},
                .weights = {9, 6, 3, 3, 3},
                .pads = IntList(6, 1),
                .strides = {1, 1, 1},
                .dilations = {1, 1, 1}});
}

TEST(FuseBytes, GivesFloatsWhereNothingQuantizesThem) {
  expect_bytes({.has_bias = false, .activation = "", .is_quantized_again = false});
  expect_bytes({.x = {1, 6, 70, 70}, .weights = {64, 6, 3, 3}, .is_quantized_again = false});
}

TEST(FuseBytes, LeavesOneChannelAndManyAlike) {
  expect_bytes({.weights = {1, 6, 3, 3}});
  expect_bytes({.weights = {300, 6, 1, 1}, .pads = {0, 0, 0, 0}});
}

// A sum of bytes is added up as a float's would be: the other addend has the shape of the result.
TEST(FuseBytes, LeavesAnAddOfAnotherTensorAlone) {
  Sketch s;
  const ValueId x = whole(s, s.input({1, 4, 8, 8}), DataType::Uint8, 128);
  const ValueId y = s.op("Conv", {x, whole_weights(s, {4, 4, 1, 1})});
  s.output(s.op("Add", {s.op("Mul", {y, s.number(1e-4F)}), s.input({1, 4, 8, 8})}));
  expect_bytes(s);
  EXPECT_EQ(count_of(fused(s.graph), "Add"), 1);
}

TEST(FuseBytes, LeavesASumBeforeItsScaleAlone) {
  Sketch s;
  const ValueId x = whole(s, s.input({1, 4, 8, 8}), DataType::Uint8, 128);
  const ValueId y = s.op("Conv", {x, whole_weights(s, {4, 4, 1, 1})});
  s.output(s.op("Mul", {s.op("Add", {y, floats(s, {4, 1, 1}, 0.5F, 1)}), s.number(1e-4F)}));
  expect_bytes(s);
  EXPECT_EQ(count_of(fused(s.graph), "Mul"), 1);
}

TEST(FuseBytes, LeavesWeightsThatNeedMoreThanABitOfSignAlone) {
  Sketch s;
  const ValueId x = whole(s, s.input({1, 4, 8, 8}), DataType::Uint8, 128);
  s.output(s.op("Conv", {x, whole_weights(s, {64, 4, 1, 1}, 30)}));
  expect_same_when_fused(s.graph, 0);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

TEST(FuseBytes, LeavesScalesOtherThanOneAlone) {
  Sketch s;
  const ValueId bytes = quantized(s, s.input({1, 4, 8, 8}), DataType::Uint8, 128, 0.01F);
  const ValueId x = s.op("DequantizeLinear", {bytes, s.number(0.01F), byte(s, DataType::Uint8, 128)});
  s.output(s.op("Conv", {x, whole_weights(s, {4, 4, 1, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

TEST(FuseBytes, LeavesSumsThatMayNotFit32BitsAlone) {
  Sketch s;
  const ValueId x = whole(s, s.input({8, 65800}), DataType::Uint8, 128);
  s.output(s.op("MatMul", {x, whole_weights(s, {65800, 2})}));
  expect_same_when_fused(s.graph);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

struct QuantizedMatMul {
  Dims x{3, 5, 40};
  std::int64_t columns = 24;
  DataType type = DataType::Uint8;
  int zero = 128;
  bool is_gemm = false;
  bool is_transposed = false;
};

Sketch sketch_of(const QuantizedMatMul& of) {
  Sketch s;
  const ValueId x = whole(s, s.input(of.x), of.type, of.zero);
  const std::int64_t depth = of.x.back();
  const ValueId w = whole_weights(s, of.is_transposed ? Dims{of.columns, depth} : Dims{depth, of.columns});
  ValueId y = of.is_gemm ? s.op("Gemm", {x, w}, {{"transB", std::int64_t{of.is_transposed}}})
                         : s.op("MatMul", {x, w});
  y = s.op("Mul", {y, floats(s, {of.columns}, 1e-5F, 1e-6F)});
  y = s.op("Relu", {s.op("Add", {floats(s, {of.columns}, -0.5F, 0.07F), y})});
  const ValueId bytes = quantized(s, y, of.type, of.zero, 0.007F);
  s.output(s.op("DequantizeLinear", {bytes, s.number(0.007F), byte(s, of.type, of.zero)}));
  return s;
}

TEST(FuseBytes, MultipliesMatricesOfBytes) {
  expect_bytes(sketch_of(QuantizedMatMul{}));
  expect_bytes(sketch_of(QuantizedMatMul{.x = {9, 33}, .columns = 17, .type = DataType::Int8, .zero = -7}));
  expect_bytes(sketch_of(QuantizedMatMul{.x = {20, 64}, .is_gemm = true}));
  expect_bytes(
      sketch_of(QuantizedMatMul{.x = {20, 64}, .columns = 3, .is_gemm = true, .is_transposed = true}));
  expect_bytes(sketch_of(QuantizedMatMul{.x = {1, 1, 300, 700}, .columns = 5}));
}

TEST(FuseBytes, LeavesAFewRowsToProductsThatReadWeightsOnce) {
  const Sketch s = sketch_of(QuantizedMatMul{.x = {2, 3, 40}});
  expect_same_when_fused(s.graph, 0);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

// QLinearConv multiplies its sums, with a bias of 32 bits, in double.
Sketch qlinear_conv(DataType type, int zero, DataType type_of_weights, int zero_of_weights, bool has_bias) {
  Sketch s;
  Tensor weights(type_of_weights, {24, 6, 3, 3});
  int next = 0;
  for (std::int64_t i = 0; i < weights.size(); ++i)
    static_cast<std::int8_t*>(weights.raw())[i] = mixed(next++);
  Tensor bias(DataType::Int32, {24});
  for (std::int32_t& number : bias.values<std::int32_t>()) number = 500 * (next++ % 7) - 1500;
  std::vector<ValueId> inputs{quantized(s, s.input({2, 6, 12, 13}), type, zero, 0.01F),
                              s.number(0.01F),
                              byte(s, type, zero),
                              s.graph.add_constant("w", std::move(weights)),
                              floats(s, {24}, 0.001F, 0.0001F),
                              byte(s, type_of_weights, zero_of_weights),
                              s.number(0.03F),
                              byte(s, type, zero)};
  if (has_bias) inputs.push_back(s.graph.add_constant("b", std::move(bias)));
  const ValueId y = s.op("QLinearConv", inputs, {{"pads", IntList{1, 1, 1, 1}}});
  s.output(s.op("DequantizeLinear", {y, s.number(0.03F), byte(s, type, zero)}));
  return s;
}

TEST(FuseBytes, ConvolvesAsQLinearConvDoes) {
  expect_bytes(qlinear_conv(DataType::Uint8, 128, DataType::Int8, 0, true));
  expect_bytes(qlinear_conv(DataType::Int8, 3, DataType::Int8, 0, false));
  expect_bytes(qlinear_conv(DataType::Uint8, 0, DataType::Uint8, 128, true));
}

// What quantizing a model's convolutions while they run leaves of them.
struct DynamicConv {
  Dims x{2, 6, 9, 11};
  Dims weights{20, 6, 3, 3};
  DataType type_of_weights = DataType::Uint8;
  std::vector<int> zeros_of_weights{117};  // none: left out
  IntList pads{1, 1, 1, 1};
  IntList strides{1, 1};
  IntList dilations{1, 1};
  std::int64_t group = 1;
  bool has_zero_of_x = true;
  float least = -1;  // of X
  float most = 1;
};

ValueId zeros_of_weights(Sketch& s, const DynamicConv& of) {
  const auto count = std::ssize(of.zeros_of_weights);
  if (count == 0) return ir::kNoValue;
  Tensor zeros(of.type_of_weights, count == 1 ? Dims{} : Dims{count});
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<std::int8_t*>(zeros.raw())[i] = static_cast<std::int8_t>(of.zeros_of_weights[i]);
  return s.graph.add_constant(s.graph.fresh_name("zeros"), std::move(zeros));
}

// The sums of bytes as 32 bits, and the scale of the bytes.
std::pair<ValueId, ValueId> convolved_bytes(Sketch& s, ValueId x, const DynamicConv& of) {
  const std::vector<ValueId> bytes = s.builder.ops("", "DynamicQuantizeLinear", {x}, 3);
  Tensor weights(of.type_of_weights, of.weights);
  for (std::int64_t i = 0; i < weights.size(); ++i)
    static_cast<std::int8_t*>(weights.raw())[i] = mixed(static_cast<int>(i));
  const ValueId y =
      s.op("ConvInteger",
           {bytes[0], s.graph.add_constant(s.graph.fresh_name("w"), std::move(weights)),
            of.has_zero_of_x ? bytes[2] : ir::kNoValue, zeros_of_weights(s, of)},
           {{"pads", of.pads}, {"strides", of.strides}, {"dilations", of.dilations}, {"group", of.group}});
  return {y, s.op("Mul", {bytes[1], s.number(0.003F)})};
}

Sketch sketch_of(const DynamicConv& of) {
  Sketch s;
  const ValueId x = s.op("Clip", {s.input(of.x), s.number(of.least), s.number(of.most)});
  const auto [sums, scale] = convolved_bytes(s, x, of);
  const ValueId y = s.op("Mul", {s.cast(sums, DataType::Float), scale});
  const ValueId biased = s.op("Add", {y, floats(s, {1, of.weights[0], 1, 1}, -0.5F, 0.07F)});
  s.output(s.op("Relu", {biased}));
  return s;
}

void expect_bytes(const DynamicConv& of) { expect_bytes(sketch_of(of)); }

TEST(FuseBytes, TakesInTheScaleThatARunMakes) {
  if (!kernels::has_exact_byte_products()) GTEST_SKIP() << "no instructions that multiply bytes exactly";
  const ir::Graph graph = fused(sketch_of(DynamicConv{}).graph);
  for (const char* gone : {"ConvInteger", "Cast", "Add", "Relu"}) EXPECT_EQ(count_of(graph, gone), 0) << gone;
  EXPECT_EQ(count_of(graph, "Mul"), 1) << ops_of(graph);
}

TEST(FuseBytes, ConvolvesBytesWhoseZeroPointARunMakes) {
  expect_bytes(DynamicConv{});
  expect_bytes(DynamicConv{.least = 0});
  expect_bytes(DynamicConv{.most = 0});
  expect_bytes(DynamicConv{.has_zero_of_x = false});
}

TEST(FuseBytes, ConvolvesWithWeightsThatNeedMoreThanAByteWithItsSign) {
  expect_bytes(DynamicConv{.zeros_of_weights = {0}});
  expect_bytes(DynamicConv{.zeros_of_weights = {255}});
  expect_bytes(DynamicConv{.zeros_of_weights = {}});
  expect_bytes(DynamicConv{.type_of_weights = DataType::Int8, .zeros_of_weights = {-100}});
  expect_bytes(DynamicConv{.type_of_weights = DataType::Int8, .zeros_of_weights = {0}});
  expect_bytes(DynamicConv{.type_of_weights = DataType::Int8, .zeros_of_weights = {}});
}

TEST(FuseBytes, ConvolvesWithAZeroPointForEachChannel) {
  expect_bytes(DynamicConv{.weights = {5, 6, 3, 3}, .zeros_of_weights = {0, 90, 128, 200, 255}});
  expect_bytes(DynamicConv{
      .weights = {4, 3, 1, 2}, .zeros_of_weights = {7, 90, 128, 200}, .pads = {0, 0, 0, 1}, .group = 2});
}

TEST(FuseBytes, PadsWithAZeroPointThatARunMakes) {
  expect_bytes(DynamicConv{.pads = {2, 0, 1, 3}, .strides = {2, 1}});
  expect_bytes(DynamicConv{.pads = {2, 2, 2, 2}, .strides = {1, 2}, .dilations = {2, 2}});
  expect_bytes(DynamicConv{.weights = {20, 6, 1, 1}, .pads = {0, 0, 0, 0}});
  expect_bytes(DynamicConv{.weights = {20, 6, 1, 1}, .pads = {0, 0, 0, 0}, .strides = {2, 3}});
  // The last row and column of X are in no window.
  expect_bytes(DynamicConv{.x = {1, 6, 10, 10}, .pads = {1, 1, 0, 0}, .strides = {2, 2}});
  expect_bytes(DynamicConv{.x = {1, 6, 10, 10}, .pads = {0, 0, 0, 0}, .strides = {2, 2}});
}

TEST(FuseBytes, ConvolvesDynamicBytesInGroupsLinesAndVolumes) {
  expect_bytes(DynamicConv{.weights = {20, 3, 3, 3}, .group = 2});
  expect_bytes(DynamicConv{.weights = {6, 1, 3, 3}, .group = 6});
  expect_bytes(DynamicConv{.weights = {12, 1, 3, 3}, .group = 6});
  expect_bytes(DynamicConv{.weights = {1, 6, 3, 3}});
  expect_bytes(DynamicConv{.x = {1, 6, 300, 70}, .weights = {70, 6, 3, 3}});
}

TEST(FuseBytes, LeavesTheScaleOfBytesThatNobodyReads) {
  Sketch s;
  const ValueId x = s.op("Relu", {s.op("Conv", {s.input({1, 6, 8, 8}), s.weight({6, 6, 3, 3})})});
  ir::Op quantize{
      .spec = ir::find_op("", "DynamicQuantizeLinear"), .name = "q", .inputs = {x}, .outputs = {}};
  const std::vector<ValueId> made = s.builder.append(std::move(quantize), 3);
  s.graph.ops.back().outputs[0] = ir::kNoValue;
  s.output(made[1]);
  expect_same_when_fused(s.graph);
}

TEST(FuseBytes, LeavesSumsThatNoCastReadsAloneAsTheyAre) {
  Sketch s;
  const auto [sums, scale] = convolved_bytes(s, s.input({1, 6, 8, 8}), {});
  s.output(s.op("Mul", {s.cast(sums, DataType::Float), scale}));
  s.output(s.cast(s.op("Abs", {sums}), DataType::Float));
  expect_same_when_fused(s.graph, 0);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

TEST(FuseBytes, LeavesAQLinearConvAloneWhoseWeightsDoNotFit) {
  const Sketch s = qlinear_conv(DataType::Uint8, 128, DataType::Uint8, 60, true);
  expect_same_when_fused(s.graph, 0);
  EXPECT_EQ(byte_product(fused(s.graph)), nullptr);
}

}  // namespace
}  // namespace podium::numeric
