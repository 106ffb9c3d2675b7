// A kernel written for float and double serves float16 and bfloat16 too: whole tensors are converted around
// it, so that each number is computed in float and rounded once.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

using Prepare = PreparedKernel (*)(PrepareContext&);

/// Prepares with `prepare`, to which every float16 and bfloat16 tensor looks like a float tensor. Constants
/// are converted once.
PreparedKernel prepare_widened(PrepareContext& context, Prepare prepare);

/// For the table of kernels: `.prepare = widened<softmax>`.
template <Prepare prepare>
PreparedKernel widened(PrepareContext& context) {
  return prepare_widened(context, prepare);
}

}  // namespace podium::kernels
