// Unique: the different elements of a tensor, or its different slices along an axis.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel unique(PrepareContext& context);

}  // namespace podium::kernels
