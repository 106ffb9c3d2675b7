#include "executor/kernels/gradient_ops.h"

#include "executor/kernels/families.h"
#include "executor/kernels/widened.h"

namespace podium::kernels {

std::span<const KernelSpec> gradient_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "ConvWeightGradient", .prepare = widened<prepare_conv_weight_gradient>, .domain = "podium"},
      {.name = "MaxPoolGradient", .prepare = widened<prepare_max_pool_gradient>, .domain = "podium"},
      {.name = "SumPoolGradient", .prepare = widened<prepare_sum_pool_gradient>, .domain = "podium"},
  };
  return kKernels;
}

}  // namespace podium::kernels
