// Variables that come back to the host.
#pragma once

#include "executor/lower/placed/facts.h"

namespace podium::lower {

/// They do so as they are when the whole of a micro-batch has run (semantics, section 6.2), the update
/// included where every micro-batch has one, which is not where gradients accumulate.
void give_variables_their_updates(PlacedGraph& placed, const Facts& facts);

}  // namespace podium::lower
