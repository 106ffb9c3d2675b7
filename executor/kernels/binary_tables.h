// The parts of the binary family, and what they share.
#pragma once

#include <span>
#include <type_traits>

#include "executor/kernels/tools/broadcast.h"

namespace podium::kernels {

std::span<const KernelSpec> arithmetic_kernels();
std::span<const KernelSpec> variadic_kernels();
std::span<const KernelSpec> comparison_kernels();
std::span<const KernelSpec> bit_kernels();
std::span<const KernelSpec> power_and_choice_kernels();

/// Calls `use` with a value of the unsigned type as wide as `type`'s elements.
template <class Use>
PreparedKernel by_size(ir::DataType type, const Use& use) {
  switch (ir::storage_bytes(type)) {
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::uint16_t{});
    case 4:
      return use(std::uint32_t{});
    case 8:
      return use(std::uint64_t{});
    default:
      throw Error("elements of type {} are not supported here", name_of(type));
  }
}

}  // namespace podium::kernels
