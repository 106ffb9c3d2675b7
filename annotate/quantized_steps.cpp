// Quantised ops as steps of which sums of integers, which are exact, and largest elements go over the parts.
// What comes behind them is the arithmetic of the kernels, so that results are the same to the bit:
//
//   QLinearMatMul           MatMulInteger, * (a_scale * b_scale / y_scale) in float, rounded, + zero, clipped
//   QLinearConv             ConvInteger + bias, * (x_scale * w_scale / y_scale) in double, and so on
//   DynamicQuantizeLinear   the range of all elements and 0, then QuantizeLinear
#include "annotate/op_steps.h"
#include "ir/filled.h"

namespace podium::annotate {
namespace {

using ir::DataType;
using ir::Term;
using ir::TermBuilder;
using ir::TypedOp;
using ir::ValueId;

bool are_bytes(const TypedOp& op, std::initializer_list<std::size_t> inputs) {
  for (std::size_t i : inputs) {
    if (op.element(i) != DataType::Int8 && op.element(i) != DataType::Uint8) return false;
  }
  return true;
}

// Rounds half to even, adds the zero point and stays in the range of its type.
Term quantized(Term scaled, Term zero) {
  TermBuilder& builder = *scaled.builder;
  const DataType type = builder.type(zero).element;
  const DataType of_scaled = builder.type(scaled).element;
  const bool is_signed = type == DataType::Int8;
  const Term shifted = scaled.call("Round") + zero.cast(of_scaled);
  const Term above = shifted.with("Max", builder.number(is_signed ? -128 : 0, shifted));
  return above.with("Min", builder.number(is_signed ? 127 : 255, shifted)).cast(type);
}

// ---- QLinearMatMul --------------------------------------------------------------------------------------

enum MatMulInput : std::uint8_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

// Along the inner dimension, where rows share their scales and zero points.
std::vector<InputAxis> product_axes(const TypedOp& op) {
  if (!are_bytes(op, {kA, kB, kYZero})) return {};
  for (std::size_t i : {kAScale, kAZero, kYScale, kYZero}) {
    if (op.input(i).element_count() != 1) return {};
  }
  for (std::size_t i : {kBScale, kBZero}) {
    if (op.input(i).element_count() != 1 && op.input(i).rank() != 1) return {};
  }
  if (op.input(kA).rank() < 2 || op.input(kB).rank() < 2) return {};
  return {{kA, op.input(kA).rank() - 1}, {kB, op.input(kB).rank() - 2}};
}

std::vector<ValueId> product_results(TermBuilder& builder, const TypedOp& op) {
  const auto input = [&](std::size_t i) { return op.op.inputs[i]; };
  const auto scale = [&](std::size_t i) {
    const Term given = term(builder, input(i));
    return op.input(i).element_count() == 1 ? given.with("Reshape", builder.ints({1})) : given;
  };
  const ValueId sums =
      builder.call("MatMulInteger", {input(kA), input(kB), input(kAZero), input(kBZero)});
  const Term factor = scale(kAScale).cast(DataType::Float) * scale(kBScale).cast(DataType::Float) /
                      scale(kYScale).cast(DataType::Float);
  return {quantized(term(builder, sums).cast(DataType::Float) * factor, scale(kYZero))};
}

// ---- QLinearConv ----------------------------------------------------------------------------------------

enum ConvInput : std::uint8_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kConvYScale, kConvYZero, kBias };

// Along the channels of the images, where there are no groups.
std::vector<InputAxis> convolution_axes(const TypedOp& op) {
  if (!are_bytes(op, {kX, kW, kConvYZero}) || op.get_int("group") != 1) return {};
  return {{kX, 1}, {kW, 1}};
}

std::vector<ValueId> convolution_results(TermBuilder& builder, const TypedOp& op) {
  ir::Dims of_channels(op.input(kX).rank(), 1);
  of_channels[1] = -1;
  const auto by_channel = [&](std::size_t i) {
    return term(builder, op.op.inputs[i]).with("Reshape", builder.ints(of_channels));
  };
  std::vector<ir::Attribute> windows;
  for (const ir::Attribute& attribute : op.op.attributes) {
    if (!attribute.name.starts_with("__")) windows.push_back(attribute);
  }
  const auto& given = op.op.inputs;
  const Term sums = {&builder,
                     builder.call("ConvInteger", {given[kX], given[kW], given[kXZero], given[kWZero]}, windows)};
  const Term factor = by_channel(kXScale) * by_channel(kWScale) / by_channel(kConvYScale);
  Term total = sums.cast(DataType::Double);
  if (op.has_input(kBias)) total = total + by_channel(kBias).cast(DataType::Double);
  return {quantized(total * factor.cast(DataType::Double), by_channel(kConvYZero))};
}

// ---- DynamicQuantizeLinear ------------------------------------------------------------------------------

std::vector<InputAxis> range_axes(const TypedOp& op) {
  std::vector<InputAxis> axes;
  for (std::int64_t axis = 0; axis < op.input(0).rank(); ++axis) axes.push_back({0, axis});
  return axes;
}

std::vector<ValueId> range_results(TermBuilder& builder, const TypedOp& op) {
  const Term x = term(builder, op.op.inputs[0]);
  const std::vector<ir::Attribute> drops{{"keepdims", std::int64_t{0}}};
  const ValueId none = builder.number(0, x);
  const Term high = x.call("ReduceMax", drops).with("Max", none);
  const Term below = (-x).call("ReduceMax", drops).with("Max", none);  // how far the range goes below 0
  const Term is_point = high.with("Equal", -below);
  const Term width = choose(is_point, term(builder, builder.number(1, x)), high + below);
  const Term scale = width / term(builder, builder.number(255, x));
  const Term clipped = (below / scale).with("Max", none).with("Min", builder.number(255, x));
  const Term zero = clipped.call("Round").cast(DataType::Uint8);
  const Term y = {&builder, builder.call("QuantizeLinear", {x, scale, zero})};
  return {y, scale, zero};
}

}  // namespace

std::span<const StepsRow> quantized_rows() {
  static const std::vector<StepsRow> kRows{
      {"QLinearMatMul", product_axes, product_results},
      {"QLinearConv", convolution_axes, convolution_results},
      {"DynamicQuantizeLinear", range_axes, range_results},
  };
  return kRows;
}

}  // namespace podium::annotate
