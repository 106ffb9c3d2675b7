// Ops whose result is an order or a choice of elements by their values.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

void infer_top_k(InferContext& context) {
  const std::int64_t count = context.has_rank(1) ? known_count(context.dims(1)) : kUnknown;
  if (count != kUnknown && count != 1) {
    throw Error("K is {}, one number needed", to_string(context.input(1)));
  }
  Type values = context.input(0);
  if (values.has_rank) {
    const std::int64_t axis = normalized_axis(context.get_int("axis"), values.rank());
    std::int64_t k = kUnknown;
    if (const auto given = known_list(context, 1)) {
      k = given->at(0);
      if (k < 0 || (values.dims[axis] != kUnknown && k > values.dims[axis])) {
        throw Error("K is {}, between 0 and {} needed", k, values.dims[axis]);
      }
    }
    values.dims[axis] = k;
  }
  context.set_output(0, values);
  values.element = DataType::Int64;
  context.set_output(1, values);
}

void infer_unique(InferContext& context) {
  const auto* axis = context.get_if<std::int64_t>("axis");
  Type unique = context.input(0);
  if (axis == nullptr) {
    unique = Type::tensor(unique.element, {kUnknown});
  } else if (unique.has_rank) {
    unique.dims[normalized_axis(*axis, unique.rank())] = kUnknown;
  }
  std::int64_t inverse = kUnknown;
  if (context.has_rank(0)) {
    const Dims& dims = context.dims(0);
    inverse = axis == nullptr ? known_count(dims) : dims[normalized_axis(*axis, context.input(0).rank())];
  }
  context.set_output(0, unique);
  context.set_output(1, DataType::Int64, {kUnknown});
  context.set_output(2, DataType::Int64, {inverse});
  context.set_output(3, DataType::Int64, {kUnknown});
}

void infer_non_zero(InferContext& context) {
  const std::int64_t rank = context.has_rank(0) ? context.input(0).rank() : kUnknown;
  context.set_output(0, DataType::Int64, {rank, kUnknown});
}

constexpr TypeSet kSortable = kNumeric | kBool | kString | kComplex;

}  // namespace

std::span<const OpSpec> order_ops() {
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::Plain, .no_samples = kOfWholeBatch},
      {
          {.name = "TopK",
           .since = 24,
           .inputs = {{"X"}, {"K", 'K'}},
           .outputs = {{"Values"}, {"Indices", 'I'}},
           .types = {{'T', kNumeric}, {'K', kInt64}, {'I', kInt64}},
           .attributes = {with_default("axis", std::int64_t{-1}), with_default("largest", std::int64_t{1}),
                          with_default("sorted", std::int64_t{1})},
           .infer = infer_top_k,
           .work = work_per_element<1>,
           .samples = along_attribute},
          {.name = "Unique",
           .since = 11,
           .gained = 11,
           .inputs = {{"X"}},
           .outputs = {{"Y"},
                       {"indices", 'I', Formal::Optional},
                       {"inverse_indices", 'I', Formal::Optional},
                       {"counts", 'I', Formal::Optional}},
           .types = {{'T', kSortable}, {'I', kInt64}},
           .attributes = {may_have("axis", AttributeKind::Int), with_default("sorted", std::int64_t{1})},
           .infer = infer_unique,
           .work = work_of_moving},
          {.name = "NonZero",
           .since = 13,
           .gained = 9,
           .inputs = {{"X"}},
           .outputs = {{"Y", 'I'}},
           .types = {{'T', kSortable}, {'I', kInt64}},
           .infer = infer_non_zero,
           .work = work_of_moving,
           .no_gradient = kNotFloat},
      });
  return kRows;
}

}  // namespace podium::ir
