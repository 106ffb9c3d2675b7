// A table of which several devices have rows.
#pragma once

#include "annotate/holdings.h"
#include "annotate/op_cut.h"

namespace podium::annotate {

/// The part of a Gather on a device that has some rows of its table: those where the index is the device's
/// own, else zeros, so that the devices' results add up to the whole. `op` is of the graph `whole`, `part`
/// the same with the device's operands; ops are appended to `out`. Gives the result in `out`.
ir::ValueId pick_rows(const ir::Graph& whole, const ir::Op& op, const ir::Op& part, const OpCut& cut,
                      int device, Holdings& held, ir::Graph& out);

}  // namespace podium::annotate
