// What every strategy is given.
#pragma once

#include <functional>

#include "executor/lower/draft/variables.h"
#include "executor/lower/placed/facts.h"

namespace podium::lower {

struct PassBlocks;
/// Is shown the passes of a pipeline, which are gone after the call.
using UsePasses = std::function<void(const PassBlocks&)>;

/// Nothing in it changes any more while a strategy works, but for the warnings.
struct Lowering {
  const PlacedGraph& placed;
  const Strategy& strategy;
  const Facts& facts;
  const Variables& variables;
  Warnings& warnings;
  UsePasses use_passes = {};  ///< or nobody
};

}  // namespace podium::lower
