#include "ir/contributions.h"

#include <algorithm>

namespace podium::ir {

ReplicaGroup Contributions::group_of(std::string_view weight) const {
  const auto found =
      std::lower_bound(groups.begin(), groups.end(), weight,
                       [](const auto& entry, std::string_view name) { return entry.first < name; });
  return found == groups.end() || found->first != weight ? ReplicaGroup{} : found->second;
}

int Contributions::replicas_of(std::string_view weight) const {
  const ReplicaGroup group = group_of(weight);
  if (group.type == GroupType::All) return replicas;
  return group.type == GroupType::None ? 1 : group.size;
}

}  // namespace podium::ir
