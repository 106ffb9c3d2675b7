// Loops over independent pieces on every thread of the machine.
#pragma once

#include <omp.h>

#include <cstdint>

namespace podium::kernels {

/// Calls `body(begin, end)` for ranges that together are [0, count), side by side when the whole is worth it.
/// `cost` is the operations or bytes of one piece. The body must not throw, and its result for a piece must
/// not depend on the range that the piece is in.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t cost, const Body& body) {
  constexpr std::int64_t kWorthThreads = 1 << 16;
  if (count <= 0) return;
  // A team of one costs more than a small tensor: no team then.
  if (count == 1 || count * cost < kWorthThreads || omp_get_max_threads() == 1) {
    body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = count * thread / threads;
    const std::int64_t end = count * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  }
}

}  // namespace podium::kernels
