// The parts of the unary family.
#pragma once

#include <span>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

std::span<const KernelSpec> math_kernels();
std::span<const KernelSpec> activation_kernels();
std::span<const KernelSpec> sign_and_test_kernels();

}  // namespace podium::kernels
