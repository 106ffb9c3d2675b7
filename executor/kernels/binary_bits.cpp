// And, Or, Xor of booleans and of bits, and shifts.
#include <functional>
#include <limits>

#include "executor/kernels/binary_tables.h"

namespace podium::kernels {
namespace {

template <class F>
PreparedKernel of_bits(PrepareContext& context) {
  return by_size(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    return combine_kernel<T, T>(context, F());
  });
}

// A shift by the width of the type or more leaves nothing.
template <bool kLeft>
PreparedKernel shift(PrepareContext& context) {
  return by_size(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    return combine_kernel<T, T>(context, [](T x, T by) -> T {
      constexpr T kBits = std::numeric_limits<T>::digits;
      const T safe = by < kBits ? by : T(0);
      const T shifted =
          kLeft ? static_cast<T>(static_cast<std::uint64_t>(x) << safe) : static_cast<T>(x >> safe);
      return by < kBits ? shifted : T(0);
    });
  });
}

PreparedKernel bit_shift(PrepareContext& context) {
  const std::string& direction = context.get_string("direction");
  if (direction == "LEFT") return shift<true>(context);
  if (direction == "RIGHT") return shift<false>(context);
  throw Error("direction is \"{}\", \"LEFT\" or \"RIGHT\" needed", direction);
}

}  // namespace

std::span<const KernelSpec> bit_kernels() {
  // Booleans are bytes of 0 or 1, so their bits say the same.
  static const std::vector<KernelSpec> kKernels{
      {.name = "And", .prepare = of_bits<std::bit_and<>>, .in_place = 3},
      {.name = "Or", .prepare = of_bits<std::bit_or<>>, .in_place = 3},
      {.name = "Xor", .prepare = of_bits<std::bit_xor<>>, .in_place = 3},
      {.name = "BitwiseAnd", .prepare = of_bits<std::bit_and<>>, .in_place = 3},
      {.name = "BitwiseOr", .prepare = of_bits<std::bit_or<>>, .in_place = 3},
      {.name = "BitwiseXor", .prepare = of_bits<std::bit_xor<>>, .in_place = 3},
      {.name = "BitShift", .prepare = bit_shift, .in_place = 3},
  };
  return kKernels;
}

}  // namespace podium::kernels
