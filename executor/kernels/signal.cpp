#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> signal_kernels() { return {}; }

}  // namespace podium::kernels
