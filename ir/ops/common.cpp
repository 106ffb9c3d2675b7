#include "ir/ops/common.h"

#include <algorithm>

namespace podium::ir {

void same_as_input(InferContext& context) { context.set_output(0, context.input(0)); }

void set_like_input(InferContext& context, DataType element) {
  Type type = context.input(0);
  type.element = element;
  context.set_output(0, std::move(type));
}

void infer_along_axis(InferContext& context) {
  if (context.has_rank(0)) normalized_axis(context.get_int("axis"), context.input(0).rank());
  same_as_input(context);
}

std::optional<DataType> named_type(const TypedOp& op, std::string_view attribute, TypeSet allowed) {
  const auto* number = op.get_if<std::int64_t>(attribute);
  if (number == nullptr) return std::nullopt;
  if (*number <= 0 || *number >= kDataTypeCount)
    throw Error("{} is {}, which is not the number of an element type", attribute, *number);
  const auto type = static_cast<DataType>(*number);
  if (!allowed.contains(type)) throw Error("{} is {}, which it cannot be", attribute, name_of(type));
  return type;
}

std::int64_t times(std::int64_t size, std::int64_t factor) {
  std::int64_t product = kUnknown;
  if (size != kUnknown && __builtin_mul_overflow(size, factor, &product))
    throw Error("{} times {} found, a product of at most 63 bits needed", size, factor);
  return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = kUnknown;
  if (a != kUnknown && b != kUnknown && __builtin_add_overflow(a, b, &sum))
    throw Error("{} plus {} found, a sum of at most 63 bits needed", a, b);
  return sum;
}

Type broadcast_type(const InferContext& context, DataType element, std::size_t first) {
  Dims dims;
  for (std::size_t i = first; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    if (!context.has_rank(i)) return Type::tensor(element);
    dims = broadcast(dims, context.dims(i));
  }
  return Type::tensor(element, std::move(dims));
}

void broadcast_inputs(InferContext& context) {
  context.set_output(0, broadcast_type(context, context.element(0)));
}

void broadcast_to_bool(InferContext& context) {
  context.set_output(0, broadcast_type(context, DataType::Bool));
}

std::optional<Dims> known_axes(const InferContext& context, std::size_t i, std::int64_t rank) {
  if (!context.has_input(i)) return Dims{};
  const Tensor* axes = context.constant(i);
  if (axes == nullptr) return std::nullopt;
  Dims result = axes->to_ints();
  for (std::int64_t& axis : result) axis = normalized_axis(axis, rank);
  return result;
}

std::vector<OpSpec> family(const FamilyFacts& facts, std::vector<OpSpec> rows) {
  for (OpSpec& row : rows) {
    if (row.category == Category::None) row.category = facts.category;
    if (row.elementwise || row.samples != nullptr || !row.no_samples.empty()) continue;
    row.samples = facts.samples;
    row.no_samples = facts.no_samples;
  }
  return rows;
}

bool keeps_first_shape(const TypedOp& op) { return op.input(0).is_static() && op.input(0) == op.output(0); }

bool has_one_input(const TypedOp& op) { return op.op.inputs.size() == 1; }

bool all_equal(const TypedOp& op, std::size_t i, std::int64_t value) {
  if (op.constant(i) == nullptr) return false;
  const auto numbers = op.constant(i)->to_ints();
  return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t number) { return number == value; });
}

OpSpec gained(int version, OpSpec row) {
  row.gained = version;
  return row;
}

OpSpec with_samples(SampleRule rule, OpSpec row) {
  row.samples = rule;
  return row;
}

OpSpec in_place(unsigned inputs, OpSpec row) {
  row.in_place = inputs;
  return row;
}

OpSpec with_total(TotalRule total, OpSpec row) {
  row.total = total;
  return row;
}

namespace {

double bytes_of(const std::vector<Type>& types) {
  double total = 0;
  for (const Type& type : types) total += static_cast<double>(packed_bytes(type));
  return total;
}

}  // namespace

double io_bytes(const TypedOp& op) { return bytes_of(op.input_types) + bytes_of(op.output_types); }

Work work_of_moving(const TypedOp& op) { return {.flop = 0, .bytes = io_bytes(op)}; }
Work work_of_picking(const TypedOp& op) {
  const auto data = static_cast<double>(packed_bytes(op.input(0)));
  return {.flop = 0, .bytes = io_bytes(op) - std::max(0.0, data - bytes_of(op.output_types))};
}
Work no_work(const TypedOp& /*op*/) { return {}; }

}  // namespace podium::ir
