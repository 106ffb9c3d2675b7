// The memory inside blocks while they run.
#pragma once

#include <cstddef>

#include "executor/numeric/memory_pool.h"

namespace podium::numeric {

/// Memory that blocks use while they run and that holds nothing between their runs: blocks that never run at
/// the same time share one, as large as the largest of them needs. It is allocated at its first use.
class WorkingMemory {
 public:
  void need_arena(std::size_t bytes) { need(arena_, bytes); }
  void need_scratch(std::size_t bytes) { need(scratch_, bytes); }
  /// For the values of a block. It moves only where a larger arena is needed than before.
  std::byte* arena() { return memory_of(arena_); }
  /// For a kernel, while it runs.
  std::byte* scratch() { return memory_of(scratch_); }

 private:
  struct Part {
    std::size_t bytes = 0;
    Arena memory = {};
  };
  static void need(Part& part, std::size_t bytes) {
    if (bytes <= part.bytes) return;
    part.bytes = bytes;
    part.memory.reset();
  }
  static std::byte* memory_of(Part& part) {
    if (!part.memory && part.bytes > 0) part.memory = make_arena(part.bytes);
    return part.memory.get();
  }

  Part arena_;
  Part scratch_;
};

}  // namespace podium::numeric
