// Who lives how long: which buffers stay for the whole run, where a slot's value dies, what a block needs
// inside.
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// Sets Buffer::always_live, Step::frees and Block::temporary_bytes. Program order is what counts: a buffer
/// is transient when it has one slot and is written before it is read, and then takes memory from each write
/// to the last read before the next write.
void plan_memory(executor::Program& program);

}  // namespace podium::lower
