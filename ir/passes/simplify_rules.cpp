// Rows say when an op hands on its first input (an Identity always, a Pad of zeros, a Slice of everything),
// and the numbers that are neutral in sums and products. Then pairs: a reshape back to the shape before, a
// Transpose after a Transpose, a Reshape after any reshape, an elementwise op after an Expand to its own
// shape, a ScatterElements whose indices an Expand made alike along its rows, which scatters rows. A square
// becomes a product. An op that other code treats as moving a value between places is passed only where both
// are in the same place.
#include "ir/passes/simplify_rules.h"

#include <algorithm>
#include <cstring>

#include "ir/infer.h"
#include "ir/passes/inherit_placement.h"
#include "ir/same.h"

namespace podium::ir {
namespace {

const Tensor* constant_input(const SimplifyView& view, const Op& op, std::size_t i) {
  if (i >= op.inputs.size() || !view.graph.is_constant(op.inputs[i])) return nullptr;
  return &*view.graph[op.inputs[i]].constant;
}

const Type& input_type(const SimplifyView& view, const Op& op, std::size_t i = 0) {
  return view.graph[op.inputs[i]].type;
}

const Type& output_type(const SimplifyView& view, const Op& op) { return view.graph[op.outputs[0]].type; }

bool keeps_shape(const SimplifyView& view, const Op& op, std::size_t i) {
  return input_type(view, op, i).is_static() && input_type(view, op, i) == output_type(view, op);
}

IntList permutation(const SimplifyView& view, const Op& op) {
  if (const auto* perm = attribute_if<IntList>(op, "perm")) return *perm;
  IntList reversed;
  if (!input_type(view, op).has_rank) return reversed;
  for (int axis = input_type(view, op).rank() - 1; axis >= 0; --axis) reversed.push_back(axis);
  return reversed;
}

bool reshapes(const Op& op) {
  return op.spec->domain.empty() &&
         (op.is("Reshape") || op.is("Flatten") || op.is("Squeeze") || op.is("Unsqueeze"));
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The bytes of a number in the types that arithmetic is done in; nothing for other types.
std::vector<std::byte> bytes_of(DataType type, float value) {
  switch (type) {
    case DataType::Float:
      return bytes_of(value);
    case DataType::Double:
      return bytes_of(static_cast<double>(value));
    case DataType::Float16:
      return bytes_of(Float16(value).bits);
    case DataType::Bfloat16:
      return bytes_of(Bfloat16(value).bits);
    case DataType::Int32:
      return bytes_of(static_cast<std::int32_t>(value));
    case DataType::Int64:
      return bytes_of(static_cast<std::int64_t>(value));
    default:
      return {};
  }
}

// Input `i` is `value` everywhere and does not stretch the other input.
bool is_neutral(const SimplifyView& view, const Op& op, std::size_t i, float value) {
  constexpr std::size_t kMostBytes = 1 << 16;
  const Tensor* tensor = constant_input(view, op, i);
  if (tensor == nullptr || tensor->size() == 0 || tensor->bytes() > kMostBytes) return false;
  if (!keeps_shape(view, op, 1 - i)) return false;
  const std::vector<std::byte> wanted = bytes_of(tensor->type(), value);
  if (wanted.empty()) return false;
  const auto* found = static_cast<const std::byte*>(tensor->raw());
  for (std::size_t offset = 0; offset < tensor->bytes(); offset += wanted.size()) {
    if (std::memcmp(found + offset, wanted.data(), wanted.size()) != 0) return false;
  }
  return true;
}

// The input that a sum or a product with a neutral number is equal to; kNoValue: there is no such number.
ValueId other_than_neutral(const SimplifyView& view, const Op& op) {
  const std::optional<Neutral>& neutral = op.spec->neutral;
  if (!neutral) return kNoValue;
  if (neutral->on_either_side && is_neutral(view, op, 0, neutral->value)) return op.inputs[1];
  return is_neutral(view, op, 1, neutral->value) ? op.inputs[0] : kNoValue;
}

// A reshape that comes back to the shape before the one it reads.
ValueId reshaped_back(const SimplifyView& view, const Op& op) {
  if (!reshapes(op)) return kNoValue;
  const Op* before = view.passable(op);
  if (before == nullptr || !reshapes(*before)) return kNoValue;
  const Type& type = input_type(view, *before);
  return type.is_static() && type == output_type(view, op) ? before->inputs[0] : kNoValue;
}

bool shorten_transpose(const SimplifyView& view, Op& op) {
  const Op* before = view.passable(op);
  if (before == nullptr || !before->is("Transpose")) return false;
  const IntList first = permutation(view, *before);
  IntList both = permutation(view, op);
  if (both.empty() || first.size() != both.size()) return false;
  for (std::int64_t& axis : both) {
    if (axis < 0 || axis >= std::ssize(first)) return false;
    axis = first[axis];
  }
  op.inputs[0] = before->inputs[0];
  set_attribute(op, "perm", std::move(both));
  return true;
}

// A zero in the shape means the dimension that is read, so it must not be read past.
bool shorten_reshape(const SimplifyView& view, Op& op) {
  const Op* before = view.passable(op);
  const Tensor* shape = constant_input(view, op, 1);
  if (before == nullptr || !reshapes(*before) || shape == nullptr) return false;
  const auto wanted = shape->to_ints();
  if (std::find(wanted.begin(), wanted.end(), 0) != wanted.end()) return false;
  op.inputs[0] = before->inputs[0];
  return true;
}

// Elements that are stretched anyway need not be repeated beforehand. PRelu stretches its slope alone.
bool shorten_stretched(const SimplifyView& view, Op& op) {
  bool shortened = false;
  for (std::size_t i = op.is("PRelu") ? 1 : 0; i < op.inputs.size(); ++i) {
    const Op* expand = op.inputs[i].valid() ? view.passable(op, i) : nullptr;
    if (expand == nullptr || !expand->is("Expand")) continue;
    const Type& result = output_type(view, op);
    Type stretched = input_type(view, *expand);
    for (std::size_t j = 0; j < op.inputs.size(); ++j) {
      if (j == i || !op.inputs[j].valid()) continue;
      const Type& other = input_type(view, op, j);
      if (!other.is_static() || !stretched.is_static()) return shortened;
      stretched.dims = broadcast(stretched.dims, other.dims);
    }
    if (!result.is_static() || stretched.dims != result.dims) continue;
    op.inputs[i] = expand->inputs[0];
    shortened = true;
  }
  return shortened;
}

// Exporters of graph networks repeat the index of a row for each of its elements.
bool shorten_scatter(const SimplifyView& view, Op& op) {
  const Op* expand = view.passable(op, 1);
  if (expand == nullptr || !expand->is("Expand")) return false;
  const Type& data = input_type(view, op, 0);
  const Type& indices = input_type(view, op, 1);
  const Type& rows = input_type(view, *expand);
  const std::int64_t axis = attribute<std::int64_t>(op, "axis");
  if (!data.is_static() || !indices.is_static() || !rows.is_static() || data.rank() != 2 ||
      rows.rank() != 2 || (axis != 0 && axis != -2) || rows.dims != Dims{indices.dims[0], 1} ||
      indices.dims[1] != data.dims[1])
    return false;
  std::erase_if(op.attributes, [](const Attribute& attribute) { return attribute.name == "axis"; });
  op.spec = find_op("", "ScatterND");
  op.inputs[1] = expand->inputs[0];
  return true;
}

// A square is a product, to the bit, which engines and devices compute in the same pass as what is beside it.
bool shorten_square(const SimplifyView& view, Op& op) {
  const Tensor* exponent = constant_input(view, op, 1);
  if (exponent == nullptr || exponent->size() != 1 || !keeps_shape(view, op, 0)) return false;
  const std::vector<std::byte> two = bytes_of(exponent->type(), 2);
  if (two.empty() || std::memcmp(exponent->raw(), two.data(), two.size()) != 0) return false;
  op.spec = find_op("", "Mul");
  op.inputs[1] = op.inputs[0];
  return true;
}

}  // namespace

bool in_same_place(const Op& a, const Op& b) {
  const std::vector<Attribute> place = place_of(a);
  const std::vector<Attribute> other = place_of(b);
  return std::equal(place.begin(), place.end(), other.begin(), other.end(), same_attribute);
}

const Op* SimplifyView::passable(const Op& op, std::size_t i) const {
  const Op* before = producer(op.inputs[i]);
  if (before == nullptr || !before->inputs[0].valid() || !is_input[before->inputs[0]]) return before;
  return in_same_place(*before, op) ? before : nullptr;
}

ValueId same_value(const SimplifyView& view, const Op& op) {
  const bool has_more = std::any_of(op.outputs.begin() + (op.outputs.empty() ? 0 : 1), op.outputs.end(),
                                    [](ValueId id) { return id.valid(); });
  if (op.outputs.empty() || !op.outputs[0].valid() || has_more || op.inputs.empty()) return kNoValue;
  const HandsOnRule hands_on = op.spec->hands_on;
  if (hands_on != nullptr && hands_on(TypedOp(view.graph, op))) return op.inputs[0];
  if (const ValueId other = other_than_neutral(view, op); other.valid()) return other;
  return reshaped_back(view, op);
}

bool shorten(const SimplifyView& view, Op& op) {
  if (op.is("Transpose")) return shorten_transpose(view, op);
  if (op.is("Reshape")) return shorten_reshape(view, op);
  if (op.is("ScatterElements")) return shorten_scatter(view, op);
  if (op.is("Pow")) return shorten_square(view, op);
  return op.spec->elementwise && op.inputs.size() > 1 && shorten_stretched(view, op);
}

}  // namespace podium::ir
