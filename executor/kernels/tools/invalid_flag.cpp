#include "executor/kernels/tools/invalid_flag.h"

#include <omp.h>

#include <cfenv>

namespace podium::kernels {

// Each thread has a flag of its own. A team of all threads has the threads of every smaller team.
void clear_invalid_flag() {
  if (omp_get_max_threads() == 1) {
    std::feclearexcept(FE_INVALID);
    return;
  }
#pragma omp parallel
  std::feclearexcept(FE_INVALID);
}

bool is_invalid_flag_set() {
  if (omp_get_max_threads() == 1) return std::fetestexcept(FE_INVALID) != 0;
  bool is_set = false;
#pragma omp parallel reduction(|| : is_set)
  is_set = std::fetestexcept(FE_INVALID) != 0;
  return is_set;
}

}  // namespace podium::kernels
