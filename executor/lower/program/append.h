// Adds to the lists of a Program.
#pragma once

#include <utility>

#include "executor/program.h"

namespace podium::lower {

inline executor::BufferId append(executor::Program& program, executor::Buffer buffer) {
  program.buffers.push_back(std::move(buffer));
  return {static_cast<std::int32_t>(program.buffers.size() - 1)};
}

inline executor::BlockId append(executor::Program& program, executor::Block block) {
  program.blocks.push_back(std::move(block));
  return {static_cast<std::int32_t>(program.blocks.size() - 1)};
}

}  // namespace podium::lower
