// Cuts what happens once per update so that what lives off chip, or what replicas gather of parts, is on the
// chip weight by weight.
#pragma once

#include <vector>

#include "executor/lower/draft/variables.h"

namespace podium::lower {

/// What runs one after the other in an update; processors run each section side by side.
struct UpdateSections {
  ir::IdMap<ir::OpId, int> of_op;  ///< 0 for ops that are not outer
  int count = 1;                   ///< every section is less; some may be empty
};

/// With variables off chip or in parts, the ops that lead to the update of one weight, its optimizer state
/// and its accumulator are a section of their own, in the order of the weights; before these comes what
/// several weights need (of that, again weight by weight, what computes with the variables of one weight
/// only), behind them what updates variables of no weight. Weights with everything whole and on chip are one
/// section. An accumulator is reset behind its last reader. Without such variables, or where an op reads a
/// variable that an earlier section would change: everything is one section, and another one the resets.
UpdateSections cut_update(const PlacedGraph& placed, const Variables& variables);

}  // namespace podium::lower
