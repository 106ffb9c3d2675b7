// Ops on few-bit numbers that ONNX Runtime contributes in the domain com.microsoft.
// An op on quantised tensors is the op of ONNX between a DequantizeLinear of each input and a QuantizeLinear
// of the output; a product whose sum is exact in integers is MatMulInteger with the scales after it. Weights
// of 2, 4 or 8 bits (MatMulNBits, GatherBlockQuantized) lie packed in bytes, the lowest bits first, in blocks
// of one scale each: shifts and masks unpack them. Of constants that is done once. Those of a product are
// then of a type of so many bits, behind a DequantizeLinear, so that the engine may leave them narrow.
#include <algorithm>
#include <array>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"
#include "ir/digest.h"
#include "ir/late_tensor.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

// Places of a quantised tensor, its scale and its zero point among the inputs.
struct Quantized {
  std::size_t value;
  std::size_t scale;
  std::size_t zero;
};

ValueId real(Rewrite& node, const Quantized& places) {
  return node.before("DequantizeLinear",
                     {node.input(places.value), node.input(places.scale), node.input(places.zero)});
}

void quantized_result(Rewrite& node, ValueId y, std::size_t scale, std::size_t zero) {
  node.result(0, "QuantizeLinear", {y, node.input(scale), node.input(zero)});
}

// A op B: inputs are A, B and C's scale, each with its zero point.
void quantized_binary(Rewrite& node, std::string_view op) {
  const ValueId a = real(node, {0, 1, 2});
  const ValueId b = real(node, {3, 4, 5});
  quantized_result(node, node.before(op, {a, b}), 6, 7);
}

void q_linear_add(Rewrite& node) { quantized_binary(node, "Add"); }
void q_linear_mul(Rewrite& node) { quantized_binary(node, "Mul"); }

// Attributes of these names, taken from the node.
std::vector<Attribute> take_named(Rewrite& node, std::initializer_list<std::string_view> names) {
  std::vector<Attribute> taken;
  for (const std::string_view name : names) {
    for (const Attribute& attribute : node.node().attributes) {
      if (attribute.name == name) taken.push_back(attribute);
    }
    node.drop(name);
  }
  return taken;
}

// f of input 0, with the scale and zero point of the output behind those of the input.
void quantized_unary(Rewrite& node, std::string_view op, std::vector<Attribute> attributes = {}) {
  const ValueId y = node.before(op, {real(node, {0, 1, 2})}, std::move(attributes));
  quantized_result(node, y, 3, 4);
}

void q_linear_sigmoid(Rewrite& node) { quantized_unary(node, "Sigmoid"); }
void q_linear_leaky_relu(Rewrite& node) { quantized_unary(node, "LeakyRelu", take_named(node, {"alpha"})); }

// A pool whose channels may be the last axis.
void quantized_pool(Rewrite& node, std::string_view op, std::vector<Attribute> attributes) {
  if (!take_flag(node, "channels_last")) return quantized_unary(node, op, std::move(attributes));
  const std::int64_t rank = node.axes_of(0);
  const ValueId x = transposed(node, real(node, {0, 1, 2}), to_channels_first(rank));
  const ValueId y = node.before(op, {x}, std::move(attributes));
  quantized_result(node, transposed(node, y, to_channels_last(rank)), 3, 4);
}

void q_linear_average_pool(Rewrite& node) {
  quantized_pool(node, "AveragePool",
                 take_named(node, {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape",
                                   "pads", "strides"}));
}
void q_linear_global_average_pool(Rewrite& node) { quantized_pool(node, "GlobalAveragePool", {}); }

// Before opset 13 a softmax was over all axes from `axis` on.
void q_linear_softmax(Rewrite& node) {
  const auto opset = take_needed<std::int64_t>(node, "opset");
  const std::int64_t axis = node.take_or<std::int64_t>("axis", -1);
  if (opset >= 13 || axis == -1) return quantized_unary(node, "Softmax", {{"axis", axis}});
  const ValueId x = real(node, {0, 1, 2});
  const ValueId rows = node.before("Softmax", {node.before("Flatten", {x}, {{"axis", axis}})});
  quantized_result(node, node.before("Reshape", {rows, node.before("Shape", {x})}), 3, 4);
}

void q_linear_reduce_mean(Rewrite& node) {
  const auto axes = node.take<IntList>("axes");
  const ValueId over = axes ? node.ints(*axes) : ir::kNoValue;
  const ValueId y = node.before("ReduceMean", {real(node, {0, 1, 2}), over}, take_named(node, {"keepdims"}));
  quantized_result(node, y, 3, 4);
}

void q_linear_concat(Rewrite& node) {
  const auto axis = take_needed<std::int64_t>(node, "axis");
  const std::size_t count = node.node().inputs.size();
  if (count < 5 || (count - 2) % 3 != 0) {
    throw Error("{} inputs found, the output's 2 and 3 for each tensor needed", count);
  }
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < count; i += 3) parts.push_back(real(node, {i, i + 1, i + 2}));
  quantized_result(node, node.before("Concat", std::move(parts), {{"axis", axis}}), 0, 1);
}

void q_linear_where(Rewrite& node) {
  const ValueId x = real(node, {1, 2, 3});
  const ValueId y = real(node, {4, 5, 6});
  quantized_result(node, node.before("Where", {node.input(0), x, y}), 7, 8);
}

// ONNX's op, but that channels may be the last axis.
void q_linear_conv(Rewrite& node) {
  const bool channels_last = take_flag(node, "channels_last");
  std::vector<Attribute> window =
      take_named(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  std::vector<ValueId> inputs = node.node().inputs;
  if (!channels_last) return node.result(0, "QLinearConv", std::move(inputs), std::move(window));
  constexpr std::size_t kWeights = 3;
  const std::int64_t rank = node.axes_of(kWeights);
  inputs[0] = transposed(node, inputs[0], to_channels_first(rank));
  const ValueId y = node.before("QLinearConv", std::move(inputs), std::move(window));
  node.result(0, "Transpose", {y}, {{"perm", to_channels_last(rank)}});
}

// Sums of products of integers times both scales, plus a bias.
void scaled_sums(Rewrite& node, ValueId sums, ValueId scale, ValueId bias) {
  const ValueId product = node.before("Mul", {node.before("CastLike", {sums, scale}), scale});
  if (!bias.valid()) return node.result(0, "Identity", {product});
  node.result(0, "Add", {product, bias});
}

void mat_mul_integer_to_float(Rewrite& node) {
  enum : std::size_t { kA, kB, kScaleA, kScaleB, kZeroA, kZeroB, kBias };
  const ValueId sums =
      node.before("MatMulInteger", {node.input(kA), node.input(kB), node.input(kZeroA), node.input(kZeroB)});
  scaled_sums(node, sums, node.before("Mul", {node.input(kScaleA), node.input(kScaleB)}), node.input(kBias));
}

void dynamic_quantize_mat_mul(Rewrite& node) {
  enum : std::size_t { kA, kB, kScaleB, kZeroB, kBias };
  const auto a = node.before_all("DynamicQuantizeLinear", {node.input(kA)}, 3);
  const ValueId sums = node.before("MatMulInteger", {a[0], node.input(kB), a[2], node.input(kZeroB)});
  scaled_sums(node, sums, node.before("Mul", {a[1], node.input(kScaleB)}), node.input(kBias));
}

void mat_mul_integer_16(Rewrite& node) {
  const bool is_unsigned = node.type_of(node.input(0)).element == DataType::Uint16 &&
                           node.type_of(node.input(1)).element == DataType::Uint16;
  const DataType sum = is_unsigned ? DataType::Uint32 : DataType::Int32;
  node.result(0, "MatMul", {cast(node, node.input(0), sum), cast(node, node.input(1), sum)});
}

// (A - its zero point) * (B - its zero point) in 32 bits.
void mul_integer(Rewrite& node) {
  enum : std::size_t { kA, kZeroA, kB, kZeroB };
  const auto centred = [&](std::size_t i, std::size_t zero) {
    const ValueId wide = cast(node, node.input(i), DataType::Int32);
    if (!node.has_input(zero)) return wide;
    return node.before("Sub", {wide, cast(node, node.input(zero), DataType::Int32)});
  };
  const ValueId a = centred(kA, kZeroA);
  node.result(0, "Mul", {a, centred(kB, kZeroB)});
}

void reduce_sum_integer(Rewrite& node) {
  const auto axes = take_needed<IntList>(node, "axes");
  const DataType element = node.type_of(node.input(0)).element;
  const ValueId wide =
      cast(node, node.input(0), element == DataType::Uint8 ? DataType::Uint32 : DataType::Int32);
  node.result(0, "ReduceSum", {wide, node.ints(axes)},
              {{"keepdims", take_needed<std::int64_t>(node, "keepdims")}});
}

// alpha * A * B + C, where C counts in units of alpha and both scales; quantised when a scale for Y is given.
void q_gemm(Rewrite& node) {
  enum : std::size_t { kA, kScaleA, kZeroA, kB, kScaleB, kZeroB, kC, kScaleY, kZeroY };
  const auto oriented = [&](std::size_t i, std::string_view flag) {
    return take_flag(node, flag) ? transposed(node, node.input(i), {1, 0}) : node.input(i);
  };
  const float alpha = node.take_or("alpha", 1.0F);
  const ValueId a = oriented(kA, "transA");
  const ValueId b = oriented(kB, "transB");
  const ValueId sums = plus(
      node, node.before("MatMulInteger", {a, b, node.input(kZeroA), node.input(kZeroB)}), node.input(kC));
  const ValueId scales = node.before("Mul", {node.input(kScaleA), node.input(kScaleB)});
  const ValueId scale = node.before("Mul", {scales, node.number_like(alpha, scales)});
  if (!node.has_input(kScaleY)) return scaled_sums(node, sums, scale, ir::kNoValue);
  quantized_result(node, node.before("Mul", {cast(node, sums, DataType::Float), scale}), kScaleY, kZeroY);
}

void check_bits(std::int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8) throw Error("bits is {}, 2, 4 or 8 needed", bits);
}

// Bytes as the numbers of `bits` bits that lie in them, the lowest first, along the last axis.
ValueId unpacked_bits(Rewrite& node, ValueId packed, std::int64_t bits) {
  check_bits(bits);
  if (bits == 8) return packed;
  const auto byte = [&](int value) {
    return node.constant(Tensor::scalar(static_cast<std::uint8_t>(value)));
  };
  std::vector<ValueId> parts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const ValueId low = node.before("BitShift", {packed, byte(shift)}, {{"direction", std::string("RIGHT")}});
    parts.push_back(unsqueezed(node, node.before("BitwiseAnd", {low, byte((1 << bits) - 1)}), {-1}));
  }
  const ValueId together = node.before("Concat", std::move(parts), {{"axis", std::int64_t{-1}}});
  const ValueId leading = node.before("Shape", {packed}, {{"end", std::int64_t{-1}}});
  return node.before("Reshape", {together, joined(node, {leading, node.ints({-1})})});
}

// What one MatMulNBits says of its weights.
struct BlockWeights {
  std::int64_t rows = 0;     // N
  std::int64_t columns = 0;  // K
  std::int64_t block = 0;
  std::int64_t bits = 0;

  std::int64_t blocks() const { return (columns + block - 1) / block; }
};

BlockWeights take_block_weights(Rewrite& node) {
  const BlockWeights weights{.rows = take_needed<std::int64_t>(node, "N"),
                             .columns = take_needed<std::int64_t>(node, "K"),
                             .block = take_needed<std::int64_t>(node, "block_size"),
                             .bits = node.take_or<std::int64_t>("bits", 4)};
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto check = [](std::string_view name, std::int64_t value) {
    if (value < 1 || value > kMost) throw Error("{} is {}, 1 to {} needed", name, value, kMost);
  };
  check("N", weights.rows);
  check("K", weights.columns);
  check("block_size", weights.block);
  check_bits(weights.bits);
  return weights;
}

DataType type_of_bits(std::int64_t bits) {
  return bits == 8 ? DataType::Uint8 : bits == 4 ? DataType::Uint4 : DataType::Uint2;
}

// Rows of packed numbers, of which the first `count` columns are meant.
ValueId unpacked_rows(Rewrite& node, ValueId packed, const BlockWeights& weights, std::int64_t count) {
  const ValueId numbers = unpacked_bits(node, reshaped(node, packed, {weights.rows, -1}), weights.bits);
  return sliced(node, numbers, node.ints({0}), node.ints({count}), 1);
}

// Rows of so many numbers of `bits` bits each, the lowest first.
struct PackedRows {
  Tensor bytes;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t bits = 0;

  std::int64_t bytes_of_row() const { return bytes.size() / rows; }
  bool is_whole() const { return bytes.size() % rows == 0 && bytes_of_row() * 8 / bits >= columns; }
  ir::Type type() const { return ir::Type::tensor(type_of_bits(bits), {rows, columns}); }
};

Tensor unpacked(const PackedRows& packed) {
  const ir::Type type = packed.type();
  Tensor numbers(type.element, type.dims);
  auto* to = static_cast<std::uint8_t*>(numbers.raw());
  const auto* from = packed.bytes.data<std::uint8_t>();
  const std::int64_t in_byte = 8 / packed.bits;
  const auto mask = static_cast<std::uint8_t>((1 << packed.bits) - 1);
  for (std::int64_t row = 0; row < packed.rows; ++row, to += packed.columns, from += packed.bytes_of_row()) {
    for (std::int64_t place = 0; place < in_byte; ++place) {
      const std::int64_t count = (packed.columns - place + in_byte - 1) / in_byte;
      for (std::int64_t i = 0; i < count; ++i)
        to[i * in_byte + place] = from[i] >> (place * packed.bits) & mask;
    }
  }
  return numbers;
}

// Known ones are unpacked once somebody reads them.
Tensor unpacked_late(const PackedRows& packed) {
  return ir::late_tensor(
      packed.type(), [=] { return unpacked(packed); },
      [=](ir::Digests& digests) {
        return ir::Digester()
            .add("rows of few bits")
            .add(digests.of(packed.bytes))
            .add(packed.bits)
            .add(packed.rows)
            .add(packed.columns)
            .digest();
      });
}

// Rows of packed numbers, of which the first `count` columns are meant, as numbers of so many bits.
ValueId narrow_rows(Rewrite& node, ValueId packed, const BlockWeights& weights, std::int64_t count) {
  const ir::Graph& graph = node.graph();
  const bool may_change = std::ranges::find(graph.inputs, packed) != graph.inputs.end();
  if (const auto& known = graph[packed].constant; known && known->defined() && !may_change) {
    const PackedRows rows{*known, weights.rows, count, weights.bits};
    if (known->type() == DataType::Uint8 && rows.is_whole()) return node.constant(unpacked_late(rows));
  }
  return cast(node, unpacked_rows(node, packed, weights, count), type_of_bits(weights.bits));
}

// What a DequantizeLinear makes of the weights [N, K]; an invalid one where their types are beyond it.
ValueId dequantized_blocks(Rewrite& node, ValueId bytes, ValueId scales, ValueId zeros,
                           const BlockWeights& weights) {
  const ir::Type real = node.type_of(scales);
  const ir::Dims blocks{weights.rows, weights.blocks()};
  const ir::TypeSet reals{DataType::Float, DataType::Float16, DataType::Bfloat16};
  if (!reals.contains(real.element) || !real.is_static() || real.element_count() != ir::element_count(blocks))
    return {};
  if (!zeros.valid()) {
    Tensor middle(type_of_bits(weights.bits), blocks);
    std::fill_n(static_cast<std::uint8_t*>(middle.raw()), middle.size(),
                static_cast<std::uint8_t>(1 << (weights.bits - 1)));
    zeros = node.constant(std::move(middle));
  } else if (node.type_of(zeros).element == DataType::Uint8) {
    zeros = narrow_rows(node, zeros, weights, weights.blocks());
  } else {
    return {};
  }
  return node.before(
      "DequantizeLinear",
      {narrow_rows(node, bytes, weights, weights.columns), reshaped(node, scales, blocks), zeros},
      {{"axis", std::int64_t{1}}, {"block_size", weights.block}});
}

// The same of any types. The zero points of the blocks are packed like the weights, or numbers like the
// scales.
ValueId computed_blocks(Rewrite& node, ValueId bytes, ValueId scales, ValueId zeros,
                        const BlockWeights& weights) {
  const std::vector<std::int64_t> of_blocks{weights.rows, weights.blocks(), 1};
  ValueId zero = node.number_like(static_cast<float>(std::int64_t{1} << (weights.bits - 1)), scales);
  if (zeros.valid()) {
    const bool is_packed = node.type_of(zeros).element == DataType::Uint8;
    if (is_packed) zeros = unpacked_rows(node, zeros, weights, weights.blocks());
    zero = reshaped(node, node.before("CastLike", {zeros, scales}), of_blocks);
  }
  const ValueId packed = reshaped(node, bytes, {weights.rows, weights.blocks(), -1});
  const ValueId numbers = node.before("CastLike", {unpacked_bits(node, packed, weights.bits), scales});
  const ValueId centred = node.before("Sub", {numbers, zero});
  const ValueId whole = node.before("Mul", {centred, reshaped(node, scales, of_blocks)});
  return sliced(node, reshaped(node, whole, {weights.rows, -1}), node.ints({0}), node.ints({weights.columns}),
                1);
}

void mat_mul_n_bits(Rewrite& node) {
  enum : std::size_t { kA, kB, kScales, kZeros, kGroups, kBias };
  refuse_input(node, kGroups, "g_idx");
  refuse_flag(node, "weight_prepacked");
  node.drop("accuracy_level");  // the least accuracy that is asked for: A is never rounded here
  const BlockWeights weights = take_block_weights(node);
  ValueId rows = dequantized_blocks(node, node.input(kB), node.input(kScales), node.input(kZeros), weights);
  if (!rows.valid())
    rows = computed_blocks(node, node.input(kB), node.input(kScales), node.input(kZeros), weights);
  const ValueId right = transposed(node, rows, {1, 0});
  if (!node.has_input(kBias)) return node.result(0, "MatMul", {node.input(kA), right});
  node.result(0, "Add", {node.before("MatMul", {node.input(kA), right}), node.input(kBias)});
}

// The sixteen numbers that 4 bits stand for, as bitsandbytes has them.
const std::vector<float>& codes_of(std::int64_t quant_type) {
  static const std::vector<float> kFloat4{
      0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
      -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
  static const std::vector<float> kNormalFloat4{
      -1.0F,       -0.69619280F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F, -0.09105004F, 0.0F,
      0.07958030F, 0.16093020F,  0.24611230F,  0.33791524F,  0.44070983F,  0.56261700F,  0.72295684F,  1.0F};
  if (quant_type != 0 && quant_type != 1) throw Error("quant_type is {}, 0 or 1 needed", quant_type);
  return quant_type == 0 ? kFloat4 : kNormalFloat4;
}

// Two codes a byte, the first in the high bits; blocks run on from row to row.
void mat_mul_bnb4(Rewrite& node) {
  enum : std::size_t { kA, kB, kScales };
  node.drop("training_mode");
  const std::vector<float>& codes = codes_of(take_needed<std::int64_t>(node, "quant_type"));
  const bool transposes = take_flag(node, "transB", true);
  const BlockWeights weights = take_block_weights(node);
  const auto nibble = [&](std::string_view op, int operand, std::vector<Attribute> attributes = {}) {
    const ValueId with = node.constant(Tensor::scalar(static_cast<std::uint8_t>(operand)));
    return unsqueezed(node, node.before(op, {node.input(kB), with}, std::move(attributes)), {-1});
  };
  const ValueId high = nibble("BitShift", 4, {{"direction", std::string("RIGHT")}});
  const ValueId both = node.before("Concat", {high, nibble("BitwiseAnd", 15)}, {{"axis", std::int64_t{-1}}});
  const std::int64_t count = weights.rows * weights.columns;
  const ValueId places = sliced(node, reshaped(node, both, {-1}), node.ints({0}), node.ints({count}), 0);
  const ValueId table = node.constant(Tensor::of({16}, codes));
  const ValueId numbers = node.before("Gather", {table, cast(node, places, DataType::Int64)});
  const ValueId place = counting(node, node.ints({count}));
  const ValueId block = node.before("Div", {place, node.ints({weights.block})});
  const ValueId scales = node.before("Gather", {node.input(kScales), block});
  const ValueId flat = node.before("Mul", {node.before("CastLike", {numbers, scales}), scales});
  ValueId right = reshaped(node, flat, {weights.rows, weights.columns});
  if (transposes) right = transposed(node, right, {1, 0});
  node.result(0, "MatMul", {node.input(kA), right});
}

// Rows are gathered as they lie, packed, and only what was gathered becomes real.
void gather_block_quantized(Rewrite& node) {
  enum : std::size_t { kData, kIndices, kScales, kZeros };
  const std::int64_t rank = node.axes_of(kData);
  const auto axis_of = [&](std::string_view name, std::int64_t fallback) {
    const std::int64_t axis = node.take_or(name, fallback);
    return axis < 0 ? axis + rank : axis;
  };
  const std::int64_t gathered = axis_of("gather_axis", 0);
  const std::int64_t blocked = axis_of("quantize_axis", 1);
  const auto block = node.take_or<std::int64_t>("block_size", 128);
  const auto bits = node.take_or<std::int64_t>("bits", 4);
  if (gathered == blocked || blocked != rank - 1) {
    throw Error("quantize_axis is {} of {}, the last one and not gather_axis needed", blocked, rank);
  }
  const bool is_packed = node.type_of(node.input(kData)).element == DataType::Uint8;
  const auto rows = [&](std::size_t i) {
    return node.before("Gather", {node.input(i), node.input(kIndices)}, {{"axis", gathered}});
  };
  const ValueId scales = unsqueezed(node, rows(kScales), {-1});
  const auto numbers = [&](std::size_t i) {
    const ValueId values = is_packed ? unpacked_bits(node, rows(i), bits) : rows(i);
    return node.before("CastLike", {values, scales});
  };
  const ValueId data = numbers(kData);
  const ValueId leading = node.before("Shape", {data}, {{"end", std::int64_t{-1}}});
  const ValueId in_blocks = node.before("Reshape", {data, joined(node, {leading, node.ints({-1, block})})});
  ValueId zeros =
      node.number_like(is_packed ? static_cast<float>(std::int64_t{1} << (bits - 1)) : 0.0F, scales);
  if (node.has_input(kZeros)) {
    const ValueId count = dim_of(node, node.before("Squeeze", {scales, node.ints({-1})}), -1);
    zeros = unsqueezed(node, sliced(node, numbers(kZeros), node.ints({0}), count, -1), {-1});
  }
  const ValueId real_blocks = node.before("Mul", {node.before("Sub", {in_blocks, zeros}), scales});
  node.result(0, "Reshape", {real_blocks, node.before("Shape", {data})});
}

void quantize_as_onnx(Rewrite& node) { node.node().domain.clear(); }

}  // namespace

std::span<const ForeignOp> contributed_quantization() {
  static constexpr std::array kTable{
      ForeignOp{"DequantizeLinear", quantize_as_onnx, 3, 3},
      ForeignOp{"DynamicQuantizeMatMul", dynamic_quantize_mat_mul, 7, 5},
      ForeignOp{"GatherBlockQuantized", gather_block_quantized, 7, 4},
      ForeignOp{"MatMulBnb4", mat_mul_bnb4, 7, 3},
      ForeignOp{"MatMulInteger16", mat_mul_integer_16, 3, 2},
      ForeignOp{"MatMulIntegerToFloat", mat_mul_integer_to_float, 0b1111, 7},
      ForeignOp{"MatMulNBits", mat_mul_n_bits, 7, 6},
      ForeignOp{"MulInteger", mul_integer, 0b101, 4},
      ForeignOp{"QGemm", q_gemm, 0b111111, 9},
      ForeignOp{"QLinearAdd", q_linear_add, 0b1011011, 8},
      ForeignOp{"QLinearAveragePool", q_linear_average_pool, 0b1011, 5},
      ForeignOp{"QLinearConcat", q_linear_concat, 0b11111, kAnyNumber},
      ForeignOp{"QLinearConv", q_linear_conv, 0b11111111, 9},
      ForeignOp{"QLinearGlobalAveragePool", q_linear_global_average_pool, 0b1011, 5},
      ForeignOp{"QLinearLeakyRelu", q_linear_leaky_relu, 0b1011, 5},
      ForeignOp{"QLinearMul", q_linear_mul, 0b1011011, 8},
      ForeignOp{"QLinearReduceMean", q_linear_reduce_mean, 0b1011, 5},
      ForeignOp{"QLinearSigmoid", q_linear_sigmoid, 0b1011, 5},
      ForeignOp{"QLinearSoftmax", q_linear_softmax, 0b1011, 5},
      ForeignOp{"QLinearWhere", q_linear_where, 0b10110111, 9},
      ForeignOp{"QuantizeLinear", quantize_as_onnx, 3, 3},
      ForeignOp{"ReduceSumInteger", reduce_sum_integer, 1, 1},
  };
  return kTable;
}

}  // namespace podium::importer
