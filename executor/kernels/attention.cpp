#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> attention_kernels() { return {}; }

}  // namespace podium::kernels
