// The program's memory, counted. Everything that Podium and the libraries under it take with `new` comes
// through here: models, tensors, arenas, what a parser makes of a file. What is counted is what the allocator
// gave, which is a little more than what was asked for; without a limit nothing is. Sanitizers need their own
// `new`; there nothing counts.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "executor/cli/memory_limit.h"

// Of jemalloc, which need not look for the size of what it is told the size of.
extern "C" __attribute__((weak)) void sdallocx(void* memory, std::size_t size, int flags);

namespace podium::cli {
namespace {

void* allocated(std::size_t bytes, std::size_t alignment) {
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(std::max<std::size_t>(bytes, 1))
             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* counted(std::size_t bytes, std::size_t alignment) {
  if (!is_memory_limited()) {
    void* const memory = allocated(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  // Asked before it is taken, so that nothing is taken that is far too large.
  if (!count_taken(static_cast<std::int64_t>(bytes))) throw std::bad_alloc();
  void* const memory = allocated(bytes, alignment);
  const std::size_t found = memory == nullptr ? 0 : ::malloc_usable_size(memory);
  count_given_back(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(found));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  if (is_memory_limited()) count_given_back(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  std::free(memory);
}

void give_back(void* memory, std::size_t bytes) {
  if (memory == nullptr || is_memory_limited() || sdallocx == nullptr) return give_back(memory);
  sdallocx(memory, std::max<std::size_t>(bytes, 1), 0);
}

}  // namespace
}  // namespace podium::cli

void* operator new(std::size_t bytes) { return podium::cli::counted(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return podium::cli::counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { podium::cli::give_back(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept { podium::cli::give_back(memory, bytes); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  podium::cli::give_back(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  podium::cli::give_back(memory);
}

#endif
