// The pools that slide a window, prepared for float and double (MaxPool: bytes too).
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_average_pool(PrepareContext& context);
PreparedKernel prepare_lp_pool(PrepareContext& context);
PreparedKernel prepare_max_pool(PrepareContext& context);
PreparedKernel prepare_max_unpool(PrepareContext& context);
PreparedKernel prepare_max_roi_pool(PrepareContext& context);

}  // namespace podium::kernels
