#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> ml_tree_kernels() { return {}; }

}  // namespace podium::kernels
