#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> binary_kernels() { return {}; }

}  // namespace podium::kernels
