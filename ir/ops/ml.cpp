#include "ir/ops/ml.h"

namespace podium::ir {
namespace {

void check_rank(const InferContext& context) {
  const int rank = context.input(0).rank();
  if (rank != 1 && rank != 2)
    throw Error("input is {}, one or two dimensions needed", to_string(context.input(0)));
}

}  // namespace

bool rows_of_features(const SampledOp& op) {
  return one_input(op) && op.inputs[0] == 0 && op.typed.input(0).rank() > 1;
}

std::int64_t ml_rows(const InferContext& context) {
  if (!context.has_rank(0)) return kUnknown;
  check_rank(context);
  return context.dims(0).size() == 2 ? context.dims(0)[0] : 1;
}

std::int64_t ml_columns(const InferContext& context) {
  if (!context.has_rank(0)) return kUnknown;
  check_rank(context);
  return context.dims(0).back();
}

std::int64_t ml_count(const InferContext& context, std::string_view name) {
  const std::int64_t count = context.get_int(name);
  if (count < 0) throw Error("{} is {}, it must not be negative", name, count);
  return count;
}

std::int64_t ml_length(const TypedOp& op, std::string_view name) {
  const AttributeValue* value = find_attribute(op.op, name);
  if (value == nullptr) return 0;
  if (const auto* ints = std::get_if<IntList>(value)) return std::ssize(*ints);
  if (const auto* floats = std::get_if<FloatList>(value)) return std::ssize(*floats);
  if (const auto* strings = std::get_if<StringList>(value)) return std::ssize(*strings);
  const auto* tensor = value_if<Tensor>(*value);
  return tensor == nullptr ? 0 : tensor->size();
}

std::int64_t infer_labels(InferContext& context, std::string_view ints_name) {
  const std::int64_t strings = ml_length(context, "classlabels_strings");
  const std::int64_t ints = ml_length(context, ints_name);
  if (strings > 0 && ints > 0)
    throw Error("{} and classlabels_strings are both there, one needed", ints_name);
  context.set_output(0, strings > 0 ? DataType::String : DataType::Int64, {ml_rows(context)});
  return strings > 0 ? strings : ints;
}

}  // namespace podium::ir
