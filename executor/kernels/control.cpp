#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> control_kernels() { return {}; }

}  // namespace podium::kernels
