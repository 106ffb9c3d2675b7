#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> sequence_kernels() { return {}; }

}  // namespace podium::kernels
