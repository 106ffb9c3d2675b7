// X of a Conv is a DequantizeLinear of bytes with a scale of one, whose only use is to make floats of them;
// the weights are whole numbers that fit 8 bits with their sign, whatever zero point they came with. Small
// ones are constants like any other, of large ones it is known that a DequantizeLinear made them, so that
// their floats need not be computed.
#include "executor/numeric/fuse_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/strip_products.h"
#include "executor/numeric/fuse_post_ops.h"
#include "ir/late_tensor.h"
#include "ir/passes/whole_products.h"

namespace podium::numeric {

using ir::DataType;
using ir::Op;
using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

enum Input : std::size_t {
  kWeights = 1,
  kScale,
  kBias,
  kZeroOfX,
  kScaleOfY,
  kZeroOfY,
  kShiftOfWeights,
  kInputs
};

// The numbers, each as it is, if all of them fit.
template <class Numbers>
std::optional<Tensor> narrowed(const ir::Dims& dims, const Numbers& number) {
  Tensor bytes(DataType::Int8, dims);
  const auto to = bytes.values<std::int8_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto wide = number(i);
    if (!(wide >= std::numeric_limits<std::int8_t>::lowest() &&
          wide <= std::numeric_limits<std::int8_t>::max()))
      return std::nullopt;
    to[i] = static_cast<std::int8_t>(wide);
    if (to[i] != wide) return std::nullopt;
  }
  return bytes;
}

bool are_zeros(const Tensor& numbers) {
  const auto* bytes = static_cast<const std::byte*>(numbers.raw());
  return std::all_of(bytes, bytes + numbers.bytes(), [](std::byte one) { return one == std::byte{0}; });
}

std::optional<Tensor> as_bytes(const Tensor& weights) {
  const ir::KnownOp* made = ir::made_by(weights);
  if (made != nullptr && made->op.is("DequantizeLinear") && ir::are_ones(made->inputs[1])) {
    const Tensor& bytes = made->inputs[0];
    const bool is_shifted =
        made->inputs.size() > 2 && made->inputs[2].defined() && !are_zeros(made->inputs[2]);
    if (bytes.type() == DataType::Int8 && !is_shifted) return bytes;
  }
  const auto numbers = weights.values<float>();
  return narrowed(weights.dims(), [&](std::size_t i) { return numbers[i]; });
}

// Bytes without their zero point, which is one for all or one for each channel of the output.
std::optional<Tensor> as_bytes(const Tensor& weights, const Tensor& zero) {
  if (weights.type() == DataType::Int8 && are_zeros(zero)) return weights;
  const Tensor floats = kernels::as_float(weights);
  const Tensor zeros = kernels::as_float(zero);
  const std::int64_t of_channel = weights.size() / weights.dim(0);
  return narrowed(weights.dims(), [&](std::size_t i) {
    return floats.data<float>()[i] - zeros.data<float>()[zero.size() == 1 ? 0 : i / of_channel];
  });
}

// Any bytes: with their sign, and what each channel's then lack.
std::vector<Tensor> shifted_bytes(const Tensor& weights, const Tensor* zero) {
  const bool is_signed = weights.type() == DataType::Int8;
  const std::int32_t taken_off = is_signed ? 0 : 128;
  Tensor bytes = weights;
  if (!is_signed) {
    bytes = Tensor(DataType::Int8, weights.dims());
    std::ranges::transform(weights.values<std::uint8_t>(), bytes.data<std::int8_t>(),
                           [&](std::uint8_t byte) { return static_cast<std::int8_t>(byte - taken_off); });
  }
  Tensor shift(DataType::Int32, {weights.dim(0)});
  for (std::int64_t i = 0; i < shift.size(); ++i) {
    std::int32_t less = 0;
    if (zero != nullptr) {
      const std::int64_t at = zero->size() == 1 ? 0 : i;
      less = is_signed ? zero->data<std::int8_t>()[at] : zero->data<std::uint8_t>()[at];
    }
    shift.data<std::int32_t>()[i] = taken_off - less;
  }
  return {std::move(bytes), std::move(shift)};
}

bool is_one_number(const Rewriter& rewriter, ValueId id) {
  const Tensor* constant = rewriter.constant(id);
  return constant != nullptr && constant->size() == 1;
}

// Numbers for the channels of a product's result, or one for all of them.
bool is_for_channels(const Rewriter& rewriter, ValueId id, std::int64_t channels) {
  return rewriter.constant(id) != nullptr && rewriter.type(id).element == DataType::Float &&
         (rewriter.constant(id)->size() == 1 || is_vector(rewriter, id, channels));
}

// One number that a run makes.
bool is_later_number(const Rewriter& rewriter, ValueId id) {
  const ir::Type& type = rewriter.type(id);
  return rewriter.constant(id) == nullptr && type.is_static() && type.element_count() == 1 &&
         type.element == DataType::Float;
}

// How far a product has got in taking in its readers, which it does in one order.
std::size_t next_input(const Op& product) {
  if (has_input(product, kZeroOfY)) return kInputs;
  if (!ir::attribute<std::string>(product, "activation").empty()) return kScaleOfY;
  return has_input(product, kBias) ? kZeroOfX : has_input(product, kScale) ? kBias : kScale;
}

std::optional<Op> with_factors(Rewriter& rewriter, const Op& product, OpId reader) {
  const Op& next = rewriter.op(reader);
  const std::size_t input = next.is("Mul") ? kScale : kBias;
  const ValueId y = product.outputs[0];
  const ValueId other = rewriter.other_input(reader, y);
  if (next_input(product) > input || !(rewriter.type(next.outputs[0]) == rewriter.type(y)))
    return std::nullopt;
  Op fused = product;
  if (is_for_channels(rewriter, other, rewriter.type(y).dims.back())) {
    fused.inputs[input] = as_vector(rewriter.graph(), other);
  } else if (input == kScale && is_later_number(rewriter, other)) {
    fused.inputs[input] = other;
  } else {
    return std::nullopt;
  }
  return fused;
}

std::optional<Op> with_clamp(const Rewriter& rewriter, const Op& product, const Op& next) {
  const auto clamp = activation_of(rewriter, next);
  if (!clamp || next_input(product) >= kScaleOfY) return std::nullopt;
  Op fused = product;
  set_activation(fused, *clamp);
  return fused;
}

std::optional<Op> with_quantizing(Rewriter& rewriter, const Op& product, const Op& next) {
  const DataType type = rewriter.type(next.outputs[0]).element;
  const bool is_plain = ir::attribute<std::int64_t>(next, "precision") == 0 &&
                        (type == DataType::Int8 || type == DataType::Uint8) &&
                        rewriter.type(next.inputs[1]).element == DataType::Float &&
                        is_one_number(rewriter, next.inputs[1]) &&
                        (!has_input(next, 2) || is_one_number(rewriter, next.inputs[2]));
  if (!is_plain || next_input(product) == kInputs) return std::nullopt;
  Op fused = product;
  fused.inputs[kScaleOfY] = as_vector(rewriter.graph(), next.inputs[1]);
  ir::Graph& graph = rewriter.graph();
  if (has_input(next, 2)) {
    fused.inputs[kZeroOfY] = as_vector(graph, next.inputs[2]);
  } else {
    Tensor zero(type, {1});
    std::memset(zero.raw(), 0, zero.bytes());
    fused.inputs[kZeroOfY] = graph.add_constant(graph.fresh_name("zero"), std::move(zero));
  }
  return fused;
}

void take_in_reader(Rewriter& rewriter, OpId id) {
  Op product = rewriter.op(id);
  const OpId reader = rewriter.only_reader(product.outputs[0]);
  if (!reader.valid()) return;
  product.inputs.resize(kInputs);
  const Op& next = rewriter.op(reader);
  std::optional<Op> fused;
  if (next.is("Mul") || next.is("Add")) fused = with_factors(rewriter, product, reader);
  if (next.is("Relu") || next.is("Clip")) fused = with_clamp(rewriter, product, next);
  if (next.is("QuantizeLinear")) fused = with_quantizing(rewriter, product, next);
  if (!fused) return;
  fused->outputs = rewriter.op(reader).outputs;
  rewriter.erase(id);
  rewriter.replace(reader, std::move(*fused));
}

ValueId add(Rewriter& rewriter, Tensor numbers) {
  ir::Graph& graph = rewriter.graph();
  return graph.add_constant(graph.fresh_name("bytes"), std::move(numbers));
}

// Sums of no more products of bytes fit 32 bits.
bool has_room(const Tensor& weights, std::int64_t sums) {
  constexpr std::int64_t kMostProducts = std::numeric_limits<std::int32_t>::max() / (255 * 128);
  return weights.size() <= kMostProducts * sums;
}

bool is_whole(const ir::Graph& graph, ValueId id) {
  const ir::Type& type = graph[id].type;
  return type.is_static() && type.element_count() > 0;
}

// Of a Conv, MatMul or Gemm of whole numbers.
std::optional<std::vector<ValueId>> whole_operands(Rewriter& rewriter, const Op& op) {
  if (has_input(op, 2) || !is_static_float(rewriter.graph(), op)) return std::nullopt;
  const auto maker = rewriter.producer(op.inputs[0], "DequantizeLinear");
  const Tensor* weights = rewriter.constant(op.inputs[1]);
  if (!maker || weights == nullptr) return std::nullopt;
  const Op& dequantize = rewriter.op(*maker);
  const DataType type = rewriter.type(dequantize.inputs[0]).element;
  const Tensor* scale = rewriter.constant(dequantize.inputs[1]);
  const bool is_shifted = has_input(dequantize, 2);
  if ((type != DataType::Int8 && type != DataType::Uint8) || scale == nullptr || !ir::are_ones(*scale) ||
      (is_shifted && !is_one_number(rewriter, dequantize.inputs[2])))
    return std::nullopt;
  const ir::Dims& y = rewriter.type(op.outputs[0]).dims;
  if (!has_room(*weights, op.is("Conv") ? y[1] : y.back())) return std::nullopt;
  auto bytes = as_bytes(*weights);
  if (!bytes) return std::nullopt;
  const ValueId zero = is_shifted ? dequantize.inputs[2] : ir::kNoValue;
  return std::vector<ValueId>{dequantize.inputs[0], add(rewriter, std::move(*bytes)), ir::kNoValue,
                              ir::kNoValue, zero};
}

// Sums and bias of 32 bits are multiplied by x_scale w_scale / y_scale.
std::optional<std::vector<ValueId>> operands_of_qlinear_conv(Rewriter& rewriter, const Op& op) {
  enum : std::size_t { kX, kScaleOfX, kZero, kW, kScaleOfW, kZeroOfW, kScaleOfResult, kZeroOfResult, kB };
  std::array<const Tensor*, kB + 1> known{};
  for (std::size_t i = kScaleOfX; i <= kB; ++i) {
    if (has_input(op, i)) known[i] = rewriter.constant(op.inputs[i]);
    if (known[i] == nullptr && (i != kB || has_input(op, kB))) return std::nullopt;
  }
  const auto is_single = [&](std::size_t i) { return known[i]->size() == 1; };
  if (!is_whole(rewriter.graph(), op.inputs[kX]) || !is_whole(rewriter.graph(), op.outputs[0]) ||
      !is_single(kScaleOfX) || !is_single(kZero) || !is_single(kScaleOfResult) || !is_single(kZeroOfResult))
    return std::nullopt;
  auto bytes = as_bytes(*known[kW], *known[kZeroOfW]);
  if (!bytes) return std::nullopt;
  const auto number = [&](std::size_t i, std::int64_t at) {
    return known[i]->data<float>()[is_single(i) ? 0 : at];
  };
  Tensor factors(DataType::Float, {known[kW]->dim(0)});
  for (std::int64_t i = 0; i < factors.size(); ++i)
    factors.data<float>()[i] = number(kScaleOfX, 0) * number(kScaleOfW, i) / number(kScaleOfResult, 0);
  Tensor bias(DataType::Int32, {known[kW]->dim(0)});
  for (std::int64_t i = 0; i < bias.size(); ++i)
    bias.data<std::int32_t>()[i] = known[kB] == nullptr ? 0 : known[kB]->data<std::int32_t>()[i];
  return std::vector<ValueId>{op.inputs[kX],
                              add(rewriter, std::move(*bytes)),
                              add(rewriter, std::move(factors)),
                              add(rewriter, std::move(bias)),
                              op.inputs[kZero],
                              ir::kNoValue,
                              op.inputs[kZeroOfResult]};
}

// Sums of 32 bits that a Cast makes floats of.
std::optional<std::vector<ValueId>> operands_of_conv_integer(Rewriter& rewriter, const Op& op) {
  enum : std::size_t { kX, kW, kZero, kZeroOfW };
  const auto cast = rewriter.only_reader(op.outputs[0], "Cast");
  const Tensor* weights = rewriter.constant(op.inputs[kW]);
  const Tensor* zero = has_input(op, kZeroOfW) ? rewriter.constant(op.inputs[kZeroOfW]) : nullptr;
  if (!cast || rewriter.type(rewriter.op(*cast).outputs[0]).element != DataType::Float ||
      weights == nullptr || !is_whole(rewriter.graph(), op.inputs[kX]) ||
      !is_whole(rewriter.graph(), op.outputs[0]))
    return std::nullopt;
  // What does not fit is left to the kernel of the op, which says so.
  if (has_input(op, kZero) && !rewriter.type(op.inputs[kZero]).is_static()) return std::nullopt;
  if (has_input(op, kZero) && rewriter.type(op.inputs[kZero]).element_count() != 1) return std::nullopt;
  if (has_input(op, kZeroOfW) && (zero == nullptr || (zero->size() != 1 && zero->size() != weights->dim(0))))
    return std::nullopt;
  std::vector<ValueId> operands(kInputs);
  operands[0] = op.inputs[kX];
  if (has_input(op, kZero)) operands[kZeroOfX] = op.inputs[kZero];
  std::optional<Tensor> bytes;
  if (zero != nullptr) bytes = as_bytes(*weights, *zero);
  if (zero == nullptr && weights->type() == DataType::Int8) bytes = *weights;
  if (bytes) {
    operands[kWeights] = add(rewriter, std::move(*bytes));
    return operands;
  }
  std::vector<Tensor> shifted = shifted_bytes(*weights, zero);
  operands[kWeights] = add(rewriter, std::move(shifted[0]));
  operands[kShiftOfWeights] = add(rewriter, std::move(shifted[1]));
  return operands;
}

}  // namespace

std::optional<std::vector<ValueId>> byte_operands(Rewriter& rewriter, const Op& op) {
  if (!kernels::has_exact_byte_products()) return std::nullopt;
  if (op.is("Conv")) return whole_operands(rewriter, op);
  if (op.is("QLinearConv")) return operands_of_qlinear_conv(rewriter, op);
  if (op.is("ConvInteger")) return operands_of_conv_integer(rewriter, op);
  return std::nullopt;
}

bool make_byte_products(ir::Graph& graph) {
  Rewriter rewriter(graph);
  if (!kernels::has_exact_byte_products()) return false;
  for (OpId id : rewriter.op_ids()) {
    const Op op = rewriter.op(id);
    const bool is_gemm = op.is("Gemm");
    if (!is_gemm && !op.is("MatMul")) continue;
    if (is_gemm && (ir::attribute<std::int64_t>(op, "transA") != 0 || ir::attribute<float>(op, "alpha") != 1))
      continue;
    const ir::Type& x = rewriter.type(op.inputs[0]);
    if (!x.is_static() || x.rank() < 2 || rewriter.type(op.inputs[1]).rank() != 2 ||
        x.element_count() <= kernels::kMostStripRows * x.dims.back())
      continue;
    auto operands = whole_operands(rewriter, op);
    if (!operands) continue;
    const std::int64_t transposed = is_gemm ? ir::attribute<std::int64_t>(op, "transB") : 0;
    Op product = make_op("ByteMatMul", "podium", std::move(*operands), op.outputs, {{"transB", transposed}});
    product.name = op.name;
    rewriter.replace(id, std::move(product));
  }
  return rewriter.finish();
}

bool fuse_bytes(ir::Graph& graph) {
  Rewriter rewriter(graph);
  // A fused op stands where its reader stood, so the loop meets it again.
  for (OpId id : rewriter.op_ids()) {
    const bool is_product =
        rewriter.op(id).is("ByteConvolution", "podium") || rewriter.op(id).is("ByteMatMul", "podium");
    if (rewriter.is_alive(id) && is_product) take_in_reader(rewriter, id);
  }
  return rewriter.finish();
}

}  // namespace podium::numeric
