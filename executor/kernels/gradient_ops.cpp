#include "executor/kernels/gradient_ops.h"

#include "executor/kernels/families.h"
#include "executor/kernels/widened.h"

namespace podium::kernels {

std::span<const KernelSpec> gradient_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "ConvWeightGradient", .prepare = widened<prepare_conv_weight_gradient>, .domain = "podium"},
  };
  return kKernels;
}

}  // namespace podium::kernels
