#include "executor/python/calls.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

namespace podium::python {

void look_for_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPeriod = std::chrono::milliseconds(50);
  thread_local Clock::time_point last = Clock::now();
  const Clock::time_point now = Clock::now();
  if (now - last < kPeriod) return;
  last = now;
  const pybind11::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw Interrupted{};
}

void check_process() {
  static std::atomic<pid_t> first{0};
  pid_t known = 0;
  if (first.compare_exchange_strong(known, getpid()) || known == getpid()) return;
  throw Error(
      "this process was forked from one that had used Podium, whose threads do not come along: a new process needed "
      "(multiprocessing: the start method 'spawn')");
}

}  // namespace podium::python
