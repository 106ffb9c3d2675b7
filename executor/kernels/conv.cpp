#include "executor/kernels/conv.h"

#include "executor/kernels/families.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {

std::span<const KernelSpec> conv_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Conv", .prepare = widened<prepare_conv>},
      {.name = "ConvTranspose", .prepare = widened<prepare_conv_transpose>},
      {.name = "ConvInteger", .prepare = prepare_conv_integer},
      {.name = "QLinearConv", .prepare = prepare_qlinear_conv},
      {.name = "DeformConv", .prepare = widened<prepare_deform_conv>},
      {.name = "CausalConvWithState", .prepare = prepare_causal_conv},
  };
  return kKernels;
}

}  // namespace podium::kernels
