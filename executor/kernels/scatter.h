// Kernels that write elements at given indices into a copy of a tensor.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel scatter_elements(PrepareContext& context);
PreparedKernel scatter_nd(PrepareContext& context);
PreparedKernel tensor_scatter(PrepareContext& context);

}  // namespace podium::kernels
