// From real numbers to few-bit ones with a scale, and back: one scale of a tensor, of each slice of an axis,
// or of each block along it. What products in 8 bits read is rounded so and stays in the type that it has.
#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

constexpr std::int64_t kMostBlock = std::int64_t{1} << 31;

constexpr TypeSet kQuantized =
    TypeSet{DataType::Int8,           DataType::Uint8,         DataType::Int16,
            DataType::Uint16,         DataType::Float8E4M3FN,  DataType::Float8E5M2,
            DataType::Float8E4M3FNUZ, DataType::Float8E5M2FNUZ} |
    kNarrow;
constexpr TypeSet kReal{DataType::Float, DataType::Float16, DataType::Bfloat16};

// A scale is one number, one a slice of the axis, or one a block of `block_size` along the axis.
void check_scale(const InferContext& context) {
  if (!context.has_rank(0) || !context.has_rank(1)) return;
  const Dims& x = context.dims(0);
  const Dims& scale = context.dims(1);
  const std::int64_t block = context.get_int("block_size");
  if (block < 0 || block > kMostBlock) throw Error("block_size is {}, 0 to {} needed", block, kMostBlock);
  if (block == 0 && scale.size() > 1) {
    throw Error("the scale is {}, a scalar or one dimension needed without block_size", to_string(scale));
  }
  if (scale.empty() || scale == Dims{1}) return;
  const std::int64_t axis = normalized_axis(context.get_int("axis"), std::ssize(x));
  Dims needed = x;
  if (block == 0) {
    needed = {x[axis]};
  } else if (x[axis] != kUnknown) {
    needed[axis] = (x[axis] + block - 1) / block;
  }
  bool fits = needed.size() == scale.size();
  for (std::size_t i = 0; fits && i < needed.size(); ++i) {
    fits = needed[i] == scale[i] || needed[i] == kUnknown || scale[i] == kUnknown;
  }
  if (!fits) throw Error("the scale is {}, {} needed", to_string(scale), to_string(needed));
}

void check_zero_point(const InferContext& context) {
  if (!context.has_input(2) || !context.has_rank(1) || !context.has_rank(2)) return;
  const Dims& scale = context.dims(1);
  const Dims& zero = context.dims(2);
  bool fits = scale.size() == zero.size();
  for (std::size_t i = 0; fits && i < scale.size(); ++i) {
    fits = scale[i] == zero[i] || scale[i] == kUnknown || zero[i] == kUnknown;
  }
  const bool both_one = context.input(1).element_count() == 1 && context.input(2).element_count() == 1;
  if (fits || both_one) return;
  throw Error("the zero point is {} and the scale {}, equal shapes needed", to_string(zero),
              to_string(scale));
}

DataType given_type(const InferContext& context, TypeSet allowed, DataType otherwise) {
  return context.get_int("output_dtype") == 0 ? otherwise : *named_type(context, "output_dtype", allowed);
}

void infer_quantize(InferContext& context) {
  check_scale(context);
  check_zero_point(context);
  if (context.get_int("precision") != 0) named_type(context, "precision", kFloats);
  if (!context.has_input(2)) return set_like_input(context, given_type(context, kQuantized, DataType::Uint8));
  const DataType zero = context.element(2);
  if (const DataType given = given_type(context, kQuantized, zero); given != zero) {
    throw Error("output_dtype is {} and the zero point is {}, equal types needed", name_of(given),
                name_of(zero));
  }
  set_like_input(context, zero);
}

void infer_dequantize(InferContext& context) {
  check_scale(context);
  check_zero_point(context);
  const DataType type = given_type(context, kReal, context.element(1));
  if (!kReal.contains(type))
    throw Error("output_dtype is needed, a scale of {} does not tell it", name_of(type));
  set_like_input(context, type);
}

void infer_dynamic(InferContext& context) {
  set_like_input(context, DataType::Uint8);
  context.set_output(1, DataType::Float, {});
  context.set_output(2, DataType::Uint8, {});
}

// Scales along the samples would be cut with them.
bool quantize_samples(const SampledOp& op) {
  if (!one_input(op)) return false;
  const Type& scale = op.typed.input(1);
  if (scale.rank() == 0 || scale.element_count() == 1) return true;
  return scale.rank() == 1 && axis_attribute(op, op.typed.input(0).rank()) != op.inputs[0];
}

// What is left of numbers of 8 bits (float8e4m3fn) that share a power of two, 32 along an axis each: the
// microscaling format MXFP8 (Open Compute Project 2023). The graph of a model gets it when products are to
// have such operands.
OpSpec round_to_blocks() {
  return {.name = "RoundToBlocks",
          .domain = "podium",
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = {must_have("axis", AttributeKind::Int)},
          .infer = same_as_input,
          .work = work_per_element<3>,
          .no_samples = "its blocks may lie across samples",
          .no_gradient = "products get it behind their gradients"};
}

}  // namespace

std::span<const OpSpec> quantize_ops() {
  constexpr TypeSet kScale = kReal | TypeSet{DataType::Float8E8M0};
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::Plain},
      {
          {.name = "QuantizeLinear",
           .since = 25,
           .gained = 10,
           .inputs = {{"x", 'A'}, {"y_scale", 'S'}, {"y_zero_point", 'Q', Formal::Optional}},
           .outputs = {{"y", 'Q'}},
           .types = {{'A', kReal | TypeSet{DataType::Int32}},
                     {'S', kScale | TypeSet{DataType::Int32}},
                     {'Q', kQuantized}},
           .attributes = {with_default("axis", 1), with_default("saturate", 1), with_default("block_size", 0),
                          with_default("output_dtype", 0), with_default("precision", 0)},
           .infer = infer_quantize,
           .work = work_per_element<3>,
           .samples = quantize_samples,
           .no_gradient = "its derivative is 0 wherever it has one"},
          {.name = "DequantizeLinear",
           .since = 25,
           .gained = 10,
           .inputs = {{"x", 'Q'}, {"x_scale", 'S'}, {"x_zero_point", 'Q', Formal::Optional}},
           .outputs = {{"y", 'Y'}},
           .types = {{'Q', kQuantized | TypeSet{DataType::Int32}}, {'S', kScale}, {'Y', kReal}},
           .attributes = {with_default("axis", 1), with_default("block_size", 0),
                          with_default("output_dtype", 0)},
           .infer = infer_dequantize,
           .work = work_per_element<2>,
           .samples = quantize_samples},
          {.name = "DynamicQuantizeLinear",
           .since = 11,
           .gained = 11,
           .inputs = {{"x", 'A'}},
           .outputs = {{"y", 'Q'}, {"y_scale", 'A'}, {"y_zero_point", 'Q'}},
           .types = {{'A', TypeSet{DataType::Float}}, {'Q', TypeSet{DataType::Uint8}}},
           .infer = infer_dynamic,
           .work = work_per_element<5>,
           .no_samples = kOfWholeBatch},
          round_to_blocks(),
      });
  return kRows;
}

}  // namespace podium::ir
