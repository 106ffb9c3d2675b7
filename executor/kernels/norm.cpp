#include "executor/kernels/norm.h"

#include "executor/kernels/families.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {

std::span<const KernelSpec> norm_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "BatchNormalization", .prepare = widened<prepare_batch_normalization>, .in_place = 1},
      {.name = "InstanceNormalization", .prepare = widened<prepare_instance_normalization>, .in_place = 1},
      {.name = "GroupNormalization", .prepare = widened<prepare_group_normalization>, .in_place = 1},
      {.name = "LayerNormalization", .prepare = widened<prepare_layer_normalization>, .in_place = 1},
      {.name = "RMSNormalization", .prepare = widened<prepare_rms_normalization>},
      {.name = "LpNormalization", .prepare = widened<prepare_lp_normalization>, .in_place = 1},
      {.name = "MeanVarianceNormalization",
       .prepare = widened<prepare_mean_variance_normalization>,
       .in_place = 1},
      {.name = "LRN", .prepare = widened<prepare_lrn>},
      {.name = "Dropout", .prepare = prepare_dropout, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
