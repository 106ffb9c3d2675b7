// Exchanges between replicas that a model asks for: whom they reach, for all that infer, differentiate and
// lower them. On paper a replica sees its own tensors alone, so how large a result is says the number of
// replicas, which bind_replicas writes into the ops.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "ir/placement.h"

namespace podium::ir {

inline constexpr std::string_view kMembers = "members";         ///< the replicas of a group, once known
inline constexpr std::string_view kOfReplicas = "of_replicas";  ///< the replicas that a model counts on
inline constexpr std::string_view kReplicaGroup = "group";      ///< a GroupType
inline constexpr std::string_view kReplicaGroupSize = "group_size";
inline constexpr std::string_view kReplicaGroupStride = "group_stride";

bool exchanges_between_replicas(const Op& op);
/// The replicas among which such an op exchanges.
ReplicaGroup replica_group(const Op& op);
/// How many they are; nullopt before the number of replicas is known.
std::optional<std::int64_t> group_members(const Op& op);

}  // namespace podium::ir
