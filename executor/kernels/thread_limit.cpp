#include "executor/kernels/thread_limit.h"

#include <omp.h>

namespace podium::kernels {

ThreadLimit::ThreadLimit(int threads) {
  if (threads <= 0) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  if (before_ > 0) omp_set_num_threads(before_);
}

}  // namespace podium::kernels
