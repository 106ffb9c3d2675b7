// Preparation of the kernels of the vision family that have files of their own.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel roi_align(PrepareContext& context);
PreparedKernel image_decoder(PrepareContext& context);

}  // namespace podium::kernels
