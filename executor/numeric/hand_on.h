// Outputs of a block that its runs need not make: its inputs, and zeros.
#pragma once

namespace podium::ir {

class Graph;

}  // namespace podium::ir

namespace podium::numeric {

/// What an Identity makes of an input becomes that input: it is shared with whoever holds it instead of
/// copied. So a version of a weight that waits in a stash costs no time.
void hand_on_inputs(ir::Graph& graph);

/// Zeros that an op fills become a constant: what no run changes is made once, for all replicas.
void hand_on_zeros(ir::Graph& graph);

}  // namespace podium::numeric
