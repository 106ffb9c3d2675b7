// How many threads the kernels that the current thread calls may use.
#pragma once

namespace podium::kernels {

/// Threads that the machine runs at once. Kernels are prepared for so many whatever the limit of the run:
/// oneDNN chooses the order of its sums by the number of threads that it sees then, and results must not
/// depend on it.
int machine_threads();

/// Whether kernels that the current thread calls have more than itself: not in a team of threads, nor where
/// the run has one.
bool may_use_threads();

/// Limits the threads to `threads` while it lives (0: no change). Other threads of the process keep their
/// limits. A primitive of oneDNN, which remembers the number of threads it was made for, obeys a limit of
/// one.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 0;
  int levels_ = 0;
};

}  // namespace podium::kernels
