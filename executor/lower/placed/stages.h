// The stages of a pipeline as it runs them, and the processors of each.
#pragma once

#include <vector>

#include "executor/lower/placed/placed_graph.h"
#include "ir/placement.h"

namespace podium::lower {

/// Processors that share stages: several where tensors are cut over devices, else each is alone.
struct Groups {
  std::vector<std::vector<int>> processors = {};  ///< of each group, ascending; groups by their first one
  std::vector<int> of = {};                       ///< the group of each processor

  int count() const { return static_cast<int>(processors.size()); }
  /// The processor of `group` that does what `processor` does in its own; the first where there are fewer.
  int like(int processor, int group) const;
};

/// The groups that the stages of ops make, members of what a group exchanges too; a processor without ops is
/// alone.
Groups find_groups(const PlacedGraph& placed);

struct Stages {
  std::vector<int> merged = {};  ///< per stage of the placement: the stage that it is part of
  std::vector<int> group = {};   ///< of each merged stage
  Groups groups = {};

  int count() const { return static_cast<int>(group.size()); }
  int of(const ir::OpPlacement& place) const { return merged[place.stage]; }
};

/// Adjacent stages on one group of processors become one, and stages are counted anew (semantics, section
/// 4.1). There is at least one.
Stages merge_stages(const PlacedGraph& placed);

}  // namespace podium::lower
