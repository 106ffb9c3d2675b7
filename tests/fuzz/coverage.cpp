// What g++ calls at every piece of straight code under -fsanitize-coverage=trace-pc. This file itself is
// compiled without it.
#include "tests/fuzz/coverage.h"

#include <sys/mman.h>

#include <new>

namespace podium::fuzz {
namespace {

constexpr std::uintptr_t kEdges = 1U << 20U;

struct Map {
  std::uint64_t taken = 0;
  std::uint8_t edge[kEdges] = {};
};

Map own;
Map* map = &own;
thread_local std::uintptr_t previous = 0;

}  // namespace

std::uint64_t edges_taken() { return map->taken; }

void share_edges() {
  void* memory = mmap(nullptr, sizeof(Map), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) map = new (memory) Map;
}

}  // namespace podium::fuzz

extern "C" void __sanitizer_cov_trace_pc() {
  using podium::fuzz::kEdges;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const auto at = (here ^ podium::fuzz::previous) % kEdges;
  podium::fuzz::previous = here >> 1U;
  if (podium::fuzz::map->edge[at] != 0) return;
  podium::fuzz::map->edge[at] = 1;
  ++podium::fuzz::map->taken;
}
