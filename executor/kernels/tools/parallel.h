// Loops over independent pieces on every thread of the machine.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

namespace podium::kernels {

/// Keeps the first exception of a team of threads, none of which may leave its loop by one.
class FirstException {
 public:
  template <class Step>
  void guard(const Step& step) {
    try {
      step();
    } catch (...) {
      if (!is_kept_.test_and_set()) kept_ = std::current_exception();
    }
  }
  /// Behind the loop: throws it.
  void rethrow() const {
    if (kept_) std::rethrow_exception(kept_);
  }

 private:
  std::atomic_flag is_kept_;
  std::exception_ptr kept_;
};

/// Calls `body(begin, end)` for ranges that together are [0, count), side by side when the whole is worth it.
/// `cost` is the operations or bytes of one piece. The body's result for a piece must not depend on the range
/// that the piece is in. Of what bodies throw, one exception comes out.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t cost, const Body& body) {
  constexpr std::int64_t kWorthThreads = 1 << 16;
  if (count <= 0) return;
  // A team of one costs more than a small tensor: no team then.
  if (count == 1 || count * cost < kWorthThreads || omp_get_max_threads() == 1) {
    body(std::int64_t{0}, count);
    return;
  }
  FirstException thrown;
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = count * thread / threads;
    const std::int64_t end = count * (thread + 1) / threads;
    if (begin < end) thrown.guard([&] { body(begin, end); });
  }
  thrown.rethrow();
}

/// Calls `one(i)` for each i of [0, count) on so many threads, which take the next as they are ready. `one`
/// throws nothing. On one thread there is no team: OpenMP counts that of one as a level, too, and starts the
/// threads of those within anew for each of them, which takes longer than most ops.
template <class One>
void for_each_on(int threads, std::int64_t count, const One& one) {
  if (threads == 1) {
    for (std::int64_t i = 0; i < count; ++i) one(i);
    return;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) one(i);
}

}  // namespace podium::kernels
