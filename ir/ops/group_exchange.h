// Exchanges between the processors of one replica that a cut of tensors over devices needs, as ops: an
// operand and a result for each member of a group, in the order of the members. Lowering makes a collective
// step of each; where all members are one processor a kernel computes it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace podium::ir {

inline constexpr std::string_view kGroupAllReduce = "GroupAllReduce";
inline constexpr std::string_view kGroupReduceScatter = "GroupReduceScatter";
inline constexpr std::string_view kGroupAllGather = "GroupAllGather";
/// Each member gets of each other one what that has in its share: what is cut along `axis` becomes cut along
/// `scatter_axis`.
inline constexpr std::string_view kGroupAllToAll = "GroupAllToAll";

/// The processor of each member.
inline constexpr std::string_view kGroupProcessors = "processors";
/// "sum" or "max", of those that reduce.
inline constexpr std::string_view kGroupReduction = "reduction";
/// The sizes of the parts that a GroupReduceScatter makes along its axis, one a member; a GroupAllToAll along
/// its `scatter_axis`.
inline constexpr std::string_view kGroupSizes = "sizes";
inline constexpr std::string_view kGroupScatterAxis = "scatter_axis";

bool exchanges_in_group(const Op& op);
/// The processors of all members; none of an op that is no such exchange.
std::span<const std::int64_t> group_processors(const Op& op);
/// The processor of a member.
int group_processor(const Op& op, std::size_t member);
/// Whether the largest elements are wanted, not the sum.
bool reduces_to_largest(const Op& op);

}  // namespace podium::ir
