#include "executor/kernels/tools/invalid_flag.h"

#include <omp.h>

#include <cfenv>

namespace podium::kernels {

void clear_own_invalid_flag() { std::feclearexcept(FE_INVALID); }

bool is_own_invalid_flag_set() { return std::fetestexcept(FE_INVALID) != 0; }

// Each thread has a flag of its own. A team of all threads has the threads of every smaller team.
void clear_invalid_flag() {
  if (omp_get_max_threads() == 1) {
    clear_own_invalid_flag();
    return;
  }
#pragma omp parallel
  clear_own_invalid_flag();
}

bool is_invalid_flag_set() {
  if (omp_get_max_threads() == 1) return is_own_invalid_flag_set();
  bool is_set = false;
#pragma omp parallel reduction(|| : is_set)
  is_set = is_own_invalid_flag_set();
  return is_set;
}

}  // namespace podium::kernels
