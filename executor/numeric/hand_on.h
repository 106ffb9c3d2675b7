// Finds outputs of a block that its runs need not compute: inputs passed through, and zeros.
#pragma once

namespace podium::ir {

class Graph;

}  // namespace podium::ir

namespace podium::numeric {

/// An output that an Identity makes of an input becomes the input itself: its memory is shared instead of
/// copied. So a version of a weight that waits in a stash costs no time.
void hand_on_inputs(ir::Graph& graph);

/// Zeros that an op fills become a constant, which is made once for all replicas.
void hand_on_zeros(ir::Graph& graph);

}  // namespace podium::numeric
