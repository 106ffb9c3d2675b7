#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> softmax_kernels() { return {}; }

}  // namespace podium::kernels
