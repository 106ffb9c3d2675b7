// Ops that keep the numbers or the bits and change the element type.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/totals.h"

namespace podium::ir {
namespace {

constexpr TypeSet kCastable = kNumeric | kFloat8s | kFloat6s | kNarrow | kBool | kString;
constexpr TypeSet kBits = kNumeric | kFloat8s | kNarrow | kBool | kComplex;

void infer_cast(InferContext& context) { set_like_input(context, *named_type(context, "to", kCastable)); }
void infer_cast_like(InferContext& context) { set_like_input(context, context.element(1)); }

void infer_bit_cast(InferContext& context) {
  const DataType to = *named_type(context, "to", kBits);
  const DataType from = context.element(0);
  if (bit_width(from) != bit_width(to)) {
    throw Error("{} has {} bits and {} has {}, equal widths needed", name_of(from), bit_width(from),
                name_of(to), bit_width(to));
  }
  set_like_input(context, to);
}

bool keeps_type(const TypedOp& op) {
  return op.element(0) != DataType::Undefined && op.element(0) == op.output(0).element;
}

}  // namespace

std::span<const OpSpec> cast_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Elementwise, .no_samples = kNotWorkedOut},
             {
                 {.name = "Cast",
                  .since = 25,
                  .inputs = {{"input", 'A'}},
                  .outputs = {{"output", 'B'}},
                  .types = {{'A', kCastable}, {'B', kCastable}},
                  .attributes = {must_have("to", AttributeKind::Int), with_default("saturate", 1),
                                 with_default("round_mode", std::string("up"))},
                  .infer = infer_cast,
                  .work = work_of_moving,
                  .elementwise = true,
                  .hands_on = keeps_type,
                  .total = total_of_first},
                 {.name = "CastLike",
                  .since = 25,
                  .gained = 15,
                  .inputs = {{"input", 'A'}, {"target_type", 'B'}},
                  .outputs = {{"output", 'B'}},
                  .types = {{'A', kCastable}, {'B', kCastable}},
                  .attributes = {with_default("saturate", 1), with_default("round_mode", std::string("up"))},
                  .infer = infer_cast_like,
                  .work = work_of_moving,
                  .elementwise = true,
                  .hands_on = keeps_type},
                 {.name = "BitCast",
                  .since = 26,
                  .gained = 26,
                  .inputs = {{"input", 'A'}},
                  .outputs = {{"output", 'B'}},
                  .types = {{'A', kBits}, {'B', kBits}},
                  .attributes = {must_have("to", AttributeKind::Int)},
                  .infer = infer_bit_cast,
                  .work = work_of_moving,
                  .in_place = kFirstInput,
                  .no_gradient = "the bits of a number are not a smooth function of it"},
             });
  return kRows;
}

}  // namespace podium::ir
