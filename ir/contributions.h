// How many gradients make an update of a weight.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/placement.h"
#include "ir/training.h"

namespace podium::ir {

/// How many gradients make an update, and how they are combined (semantics, section 5.2).
struct Contributions {
  int accumulation = 1;  ///< micro-batches
  int replicas = 1;
  GradientReduction reduction = GradientReduction::Sum;
  int slices = 1;  ///< of a micro-batch, each with a share of its gradient
  /// Weights that not all replicas share, ascending, each with the groups that do: gradients of other
  /// replicas are no part of its update.
  std::vector<std::pair<std::string, ReplicaGroup>> groups = {};

  /// Whether gradients add up before an update.
  bool accumulates() const { return accumulation * slices > 1; }
  ReplicaGroup group_of(std::string_view weight) const;
  /// How many replicas share a weight.
  int replicas_of(std::string_view weight) const;
};

}  // namespace podium::ir
