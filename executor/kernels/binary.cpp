#include "executor/kernels/binary_tables.h"
#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> binary_kernels() {
  static const std::vector<KernelSpec> kKernels = [] {
    std::vector<KernelSpec> all;
    for (const auto part : {arithmetic_kernels(), variadic_kernels(), comparison_kernels(), bit_kernels(),
                            power_and_choice_kernels()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kKernels;
}

}  // namespace podium::kernels
