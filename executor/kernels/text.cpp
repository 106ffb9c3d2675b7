#include "executor/kernels/families.h"

namespace podium::kernels {

std::span<const KernelSpec> text_kernels() { return {}; }

}  // namespace podium::kernels
