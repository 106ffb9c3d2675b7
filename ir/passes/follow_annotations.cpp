// Each rewrite takes the ops out of the graph and puts them back in their order; in place of some it appends
// others, the last of which hands its result on under the old value. A product in n parts is
//
//   input_channels   A -Split-> A1 .. An,                  Concat(A1 B, ..)
//   output_channels                       B -> B1 .. Bn,   Concat(A B1, ..)
//   reducing_dim     A -> A1 .. An,       B -> B1 .. Bn,   A1 B1 + .. + An Bn
//
// so the derivatives of the parts are in parts, too.
#include "ir/passes/follow_annotations.h"

#include <algorithm>
#include <array>

#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/verify.h"

namespace podium::ir {
namespace {

bool is_product_annotation(const Attribute& attribute) {
  constexpr std::array kFollowed{kSerializeMode, kSerializeFactor, kSerializePrecision, kOutputType};
  return std::ranges::count(kFollowed, attribute.name) > 0;
}

// Puts `rewritten` in the place of an op: what it appends gets the op's name and annotations, the value that
// it gives becomes the op's result. An op for which it gives none stays. Says whether one did not.
template <class Rewritten>
bool rewrite_ops(Graph& graph, const Rewritten& rewritten) {
  std::vector<Op> ops = std::exchange(graph.ops, {});
  Builder builder(graph);
  bool changed = false;
  for (Op& op : ops) {
    const auto first = graph.ops.size();
    const ValueId result = rewritten(builder, op);
    if (!result.valid()) {
      graph.ops.push_back(std::move(op));
      continue;
    }
    changed = true;
    graph.ops.push_back({.spec = find_op("", "Identity"), .inputs = {result}, .outputs = {op.outputs[0]}});
    for (std::size_t i = first; i < graph.ops.size(); ++i) {
      Op& made = graph.ops[i];
      made.name = op.name;
      for (const Attribute& attribute : op.attributes) {
        if (is_annotation(attribute.name) && !is_product_annotation(attribute))
          set_attribute(made, attribute.name, attribute.value);
      }
    }
  }
  return changed;
}

std::int64_t factor_of(const Op& op) {
  const auto* mode = attribute_if<std::string>(op, kSerializeMode);
  const auto* factor = attribute_if<std::int64_t>(op, kSerializeFactor);
  if (mode == nullptr || *mode == "none" || factor == nullptr) return 1;
  if (*factor < 1) throw Error("{} {} found, at least 1 needed", kSerializeFactor, *factor);
  return *factor;
}

std::vector<ValueId> split(Builder& builder, ValueId value, std::int64_t axis, std::int64_t factor) {
  const Type& type = builder.type(value);
  const std::int64_t size = type.has_rank && axis >= 0 ? type.dims[axis] : kUnknown;
  if (size < 0 || size % factor != 0) {
    throw Error("{} {} found, a divisor of the {} of axis {} of '{}' needed", kSerializeFactor, factor,
                size < 0 ? "unknown size" : std::to_string(size), axis, builder.graph()[value].name);
  }
  const ValueId sizes = builder.constant(
      Tensor::ints(std::vector<std::int64_t>(static_cast<std::size_t>(factor), size / factor)));
  return builder.ops("", "Split", {value, sizes}, static_cast<std::size_t>(factor), {{"axis", axis}});
}

ValueId cast_to(Builder& builder, ValueId value, DataType type) {
  if (builder.type(value).element == type) return value;
  return builder.op("Cast", {value}, {{"to", static_cast<std::int64_t>(type)}});
}

ValueId in_parts(Builder& builder, const Op& op, ValueId a, ValueId b) {
  const std::int64_t factor = factor_of(op);
  const auto product = [&](ValueId left, ValueId right) { return builder.op("MatMul", {left, right}); };
  if (factor == 1) return product(a, b);
  const std::int64_t left_rank = builder.type(a).rank();
  const std::int64_t right_rank = builder.type(b).rank();
  const auto& mode = attribute<std::string>(op, kSerializeMode);
  std::vector<ValueId> parts;
  if (mode == "reducing_dim") {
    const std::vector<ValueId> left = split(builder, a, left_rank - 1, factor);
    const std::vector<ValueId> right = split(builder, b, std::max<std::int64_t>(right_rank - 2, 0), factor);
    const auto* precision = attribute_if<std::int64_t>(op, kSerializePrecision);
    const DataType type = builder.type(a).element;
    const bool is_wide = precision != nullptr && *precision != 0 && bit_width(type) < 32;
    const auto part = [&](std::size_t i) {
      const ValueId made = product(left[i], right[i]);
      return is_wide ? cast_to(builder, made, DataType::Float) : made;
    };
    ValueId sum = part(0);
    for (std::size_t i = 1; i < left.size(); ++i) sum = builder.op("Add", {sum, part(i)});
    return is_wide ? cast_to(builder, sum, type) : sum;
  }
  const bool by_rows = mode == "input_channels";
  if (by_rows) {
    for (ValueId rows : split(builder, a, left_rank - 2, factor)) parts.push_back(product(rows, b));
  } else {
    for (ValueId columns : split(builder, b, right_rank < 2 ? -1 : right_rank - 1, factor))
      parts.push_back(product(a, columns));
  }
  const std::int64_t axis = by_rows && right_rank > 1 ? -2 : -1;
  return builder.op("Concat", parts, {{"axis", axis}});
}

DataType output_type_of(const Op& op, DataType otherwise) {
  const auto* name = attribute_if<std::string>(op, kOutputType);
  if (name == nullptr || name->empty()) return otherwise;
  std::string lower = *name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "float" || lower == "float32") return DataType::Float;
  if (lower == "half" || lower == "float16") return DataType::Float16;
  throw Error("{} is '{}', FLOAT or FLOAT16 needed", kOutputType, *name);
}

// A result that is wider than the operands is computed of operands that are as wide: a product of halves that
// adds up in floats and is not rounded.
ValueId followed(Builder& builder, const Op& op) {
  const DataType own = builder.type(op.inputs[0]).element;
  const DataType asked = output_type_of(op, own);
  ValueId a = op.inputs[0];
  ValueId b = op.inputs[1];
  if (bit_width(asked) > bit_width(own)) {
    a = cast_to(builder, a, asked);
    b = cast_to(builder, b, asked);
  }
  return cast_to(builder, in_parts(builder, op, a, b), asked);
}

ValueId swap_channels(Builder& builder, ValueId value, std::int64_t first, std::int64_t second) {
  const ValueId split =
      builder.op("Reshape", {value, builder.constant(Tensor::ints({0, first, second, -1}))});
  return builder.op("Transpose", {split}, {{"perm", IntList{0, 2, 1, 3}}});
}

ValueId swap_numbers(Builder& builder, ValueId value, std::int64_t first, std::int64_t second) {
  const ValueId split = builder.op("Reshape", {value, builder.constant(Tensor::ints({first, second}))});
  const ValueId turned = builder.op("Transpose", {split}, {{"perm", IntList{1, 0}}});
  return builder.op("Reshape", {turned, builder.constant(Tensor::ints({-1}))});
}

}  // namespace

bool follow_product_annotations(Graph& graph) {
  return rewrite_ops(graph, [&](Builder& builder, const Op& op) {
    const bool is_asked =
        op.is("MatMul") && (find_attribute(op, kOutputType) != nullptr || factor_of(op) > 1);
    if (!is_asked) return kNoValue;
    try {
      const ValueId result = followed(builder, op);
      graph[op.outputs[0]].type = graph[result].type;
      return result;
    } catch (const Error& error) {
      throw error.at(graph.describe(op));
    }
  });
}

bool stride_channel_groups(Graph& graph) {
  return rewrite_ops(graph, [&](Builder& builder, const Op& op) {
    if (!op.is("GroupNormalization")) return kNoValue;
    const Type type = builder.type(op.inputs[0]);
    const std::int64_t groups = attribute<std::int64_t>(op, "num_groups");
    const std::int64_t channels = type.has_rank && type.rank() > 1 ? type.dims[1] : kUnknown;
    if (channels < 0) {
      throw Error("{}: {} found, a known number of channels needed to bring them into groups",
                  graph.describe(op), to_string(type));
    }
    const std::int64_t each = channels / groups;
    if (each == 1 || groups == 1) return kNoValue;
    const ValueId shape = builder.op("Shape", {op.inputs[0]});
    const ValueId x = swap_channels(builder, op.inputs[0], each, groups);
    const ValueId side_by_side = builder.op("Reshape", {x, shape});
    const std::vector<ValueId> normalized =
        builder.ops("", "GroupNormalization",
                    {side_by_side, swap_numbers(builder, op.inputs[1], each, groups),
                     swap_numbers(builder, op.inputs[2], each, groups)},
                    1, op.attributes);
    return builder.op("Reshape", {swap_channels(builder, normalized[0], groups, each), shape});
  });
}

}  // namespace podium::ir
