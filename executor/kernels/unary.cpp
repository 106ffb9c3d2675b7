#include "executor/kernels/families.h"
#include "executor/kernels/unary_tables.h"

namespace podium::kernels {

std::span<const KernelSpec> unary_kernels() {
  static const std::vector<KernelSpec> kKernels = [] {
    std::vector<KernelSpec> all;
    for (const auto part : {math_kernels(), activation_kernels(), sign_and_test_kernels()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kKernels;
}

}  // namespace podium::kernels
