// The stages of a pipeline as it runs them.
#pragma once

#include <vector>

#include "ir/placement.h"

namespace podium::lower {

struct Stages {
  std::vector<int> merged = {};     ///< per stage of the placement: the stage that it is part of
  std::vector<int> processor = {};  ///< of each merged stage

  int count() const { return processor.size(); }
  int of(const ir::OpPlacement& place) const { return merged[place.stage]; }
};

/// Adjacent stages on one processor become one, and stages are counted anew (semantics, section 4.1). There
/// is at least one.
Stages merge_stages(const ir::Placement& placement);

}  // namespace podium::lower
