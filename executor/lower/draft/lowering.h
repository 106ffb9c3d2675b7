// What every strategy is given.
#pragma once

#include "executor/lower/draft/variables.h"
#include "executor/lower/placed/facts.h"

namespace podium::lower {

/// Nothing in it changes any more while a strategy works, but for the warnings.
struct Lowering {
  const PlacedGraph& placed;
  const Strategy& strategy;
  const Facts& facts;
  const Variables& variables;
  Warnings& warnings;
};

}  // namespace podium::lower
