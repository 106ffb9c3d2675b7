// Chooses the tensors between blocks that lie channels-last, so that no block transposes them at its border.
#pragma once

#include "executor/numeric/channels_last.h"
#include "executor/program.h"

namespace podium::numeric {

/// The layouts of each block. Tensors of floats or bytes that convolutions read or write, and the results of
/// pools and elementwise ops on them, lie channels-last as long as only blocks and copies touch them. Tensors
/// that the host, a collective or the next run sees lie as the model says.
ir::IdMap<executor::BlockId, Layouts> choose_layouts(const executor::Program& program);

}  // namespace podium::numeric
