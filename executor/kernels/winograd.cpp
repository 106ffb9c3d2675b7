#include "executor/kernels/winograd.h"

#include <atomic>
#include <cmath>
#include <limits>

#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

bool are_finite(std::span<const float> numbers) {
  std::atomic<bool> finite = true;
  parallel_ranges(std::ssize(numbers), 1, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;  // no way out of the loop, which so works on vectors
    for (std::int64_t i = begin; i < end; ++i)
      all &= std::abs(numbers[static_cast<std::size_t>(i)]) <= std::numeric_limits<float>::max();
    if (!all) finite = false;
  });
  return finite;
}

}  // namespace podium::kernels
