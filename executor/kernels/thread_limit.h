// How many threads the kernels that the current thread calls may use.
#pragma once

namespace podium::kernels {

/// While it lives: `threads` at most (0: no change), oneDNN's included, which decides how a primitive splits its
/// work when it is made. Other threads of the process are not touched.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_ = 0;
};

}  // namespace podium::kernels
