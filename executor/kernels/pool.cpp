#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> pool_kernels() { return {}; }

}  // namespace podium::kernels
