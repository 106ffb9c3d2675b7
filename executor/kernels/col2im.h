// Col2Im: adds the columns of overlapping blocks back into an image.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel col2im(PrepareContext& context);

}  // namespace podium::kernels
