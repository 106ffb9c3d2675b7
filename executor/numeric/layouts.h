// Which tensors between blocks lie channels-last, so that no block turns them round at its border.
#pragma once

#include <vector>

#include "executor/numeric/channels_last.h"
#include "executor/program.h"

namespace podium::numeric {

/// Per block. Float tensors that convolutions give or take, and what pools and elementwise ops make of them,
/// as long as only blocks and copies touch them: what the host, collectives or the next run see lies as the
/// model says.
std::vector<Layouts> choose_layouts(const executor::Program& program);

}  // namespace podium::numeric
