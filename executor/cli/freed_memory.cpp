#include "executor/cli/freed_memory.h"

#include <sys/types.h>

#include <cstddef>

// Of jemalloc; absent in programs with another allocator.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, std::size_t* old_size, void* value,
                                             std::size_t size);

namespace podium::cli {

void keep_freed_memory() {
  if (mallctl == nullptr) return;
  ssize_t forever = -1;
  for (const char* what : {"arena.0.dirty_decay_ms", "arena.0.muzzy_decay_ms"})
    mallctl(what, nullptr, nullptr, &forever, sizeof forever);
}

}  // namespace podium::cli
