// Pieces that many ops of other domains are made of.
#pragma once

#include <optional>
#include <string>

#include "importer/opset_rewrite.h"

namespace podium::importer {

/// Attribute `name`. Error when it is absent.
template <class T>
T take_needed(Rewrite& node, std::string_view name) {
  auto value = node.take<T>(name);
  if (!value) throw Error("attribute '{}' is missing", name);
  return *value;
}
bool take_flag(Rewrite& node, std::string_view name, bool fallback = false);
/// For what one machine's kernels do and numbers do not show. Error when the flag is set.
void refuse_flag(Rewrite& node, std::string_view name);
void refuse_input(Rewrite& node, std::size_t i, std::string_view name);

/// 1-D int64 of one element: dimension `axis` of a value, counted from the end when negative.
ir::ValueId dim_of(Rewrite& node, ir::ValueId value, std::int64_t axis);
/// Some 1-D int64 values one after the other.
ir::ValueId joined(Rewrite& node, std::vector<ir::ValueId> parts);
ir::ValueId cast(Rewrite& node, ir::ValueId value, ir::DataType type);
ir::ValueId reshaped(Rewrite& node, ir::ValueId value, const std::vector<std::int64_t>& shape);
ir::ValueId unsqueezed(Rewrite& node, ir::ValueId value, const std::vector<std::int64_t>& axes);
ir::ValueId transposed(Rewrite& node, ir::ValueId value, const std::vector<std::int64_t>& order);
/// Elements [start, end) of one axis, both 1-D int64 of one element.
ir::ValueId sliced(Rewrite& node, ir::ValueId value, ir::ValueId start, ir::ValueId end, std::int64_t axis);
/// Parts of the last axis of the same size.
std::vector<ir::ValueId> split_evenly(Rewrite& node, ir::ValueId value, std::size_t parts);
/// 0, 1, ... up to a 1-D int64 of one element.
ir::ValueId counting(Rewrite& node, ir::ValueId count);
/// The sum, or the first when the second is left out.
ir::ValueId plus(Rewrite& node, ir::ValueId a, ir::ValueId b);

/// [B, S, heads * size] as [B, heads, S, size].
ir::ValueId heads_first(Rewrite& node, ir::ValueId flat, std::int64_t heads);
/// Output 0 is [B, heads, S, size] as [B, S, heads * size].
void result_of_heads(Rewrite& node, ir::ValueId y);
/// The columns of a table of angles, input `i`; 0 when they are not known.
std::int64_t known_angles(Rewrite& node, std::size_t i);

/// Orders of axes between [N, C, ...] and [N, ..., C].
std::vector<std::int64_t> to_channels_last(std::int64_t rank);
std::vector<std::int64_t> to_channels_first(std::int64_t rank);

/// Q, K and V of an attention.
struct Projected {
  ir::ValueId q;
  ir::ValueId k;
  ir::ValueId v;
};

/// The name of an activation with its parameters as fused ops write them.
struct Activation {
  std::string name;  ///< empty: none
  std::optional<float> alpha = {};
  std::optional<float> beta = {};
  std::optional<float> gamma = {};
  std::optional<std::int64_t> axis = {};
};
/// Output 0 is the activation of a value. Error when there is no such activation.
void activated_result(Rewrite& node, ir::ValueId value, const Activation& activation);

}  // namespace podium::importer
