// The kernels of ai.onnx.ml that look keys up, or make and read maps.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

std::span<const KernelSpec> ml_map_kernels();

}  // namespace podium::kernels
