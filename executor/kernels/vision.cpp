#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> vision_kernels() { return {}; }

}  // namespace podium::kernels
