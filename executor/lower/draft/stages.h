// The stages of a pipeline as it runs them.
#pragma once

#include <vector>

#include "ir/placement.h"

namespace podium::lower {

struct Stages {
  std::vector<int> of_op;      ///< per op of the placement
  std::vector<int> processor;  ///< of each stage
};

/// Adjacent stages on one processor become one, and stages are counted anew (semantics, section 4.1).
Stages merge_stages(const ir::Placement& placement);

}  // namespace podium::lower
