#include "executor/kernels/tools/thread_limit.h"

#include <omp.h>

namespace podium::kernels {

int machine_threads() {
  static const int threads = omp_get_num_procs();  // asks the system each time
  return threads;
}

bool may_use_threads() {
  return omp_get_max_threads() > 1 && omp_get_max_active_levels() > omp_get_active_level();
}

ThreadLimit::ThreadLimit(int threads) {
  if (threads <= 0) return;
  before_ = omp_get_max_threads();
  levels_ = omp_get_max_active_levels();
  omp_set_num_threads(threads);
  if (threads == 1) omp_set_max_active_levels(0);
}

ThreadLimit::~ThreadLimit() {
  if (before_ == 0) return;
  omp_set_num_threads(before_);
  omp_set_max_active_levels(levels_);
}

}  // namespace podium::kernels
