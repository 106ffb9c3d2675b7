// What several layers can have in common: code, and remote buffers (semantics, sections 7.4 and 8.3).
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// Blocks of one processor that compute the same become one, which is prepared once and whose code is in
/// memory once. Their runs keep the names that the blocks had. Random ops and bodies of control-flow ops are
/// never the same.
void share_blocks(executor::Program& program);

/// Tensors in streaming memory that differ in their numbers only, because the same places of the same blocks
/// read and write them, become rows of one buffer. Comes behind share_blocks and before plan_memory.
void share_remote_buffers(executor::Program& program);

}  // namespace podium::lower
