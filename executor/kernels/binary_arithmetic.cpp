// Add, Sub, Mul, Div, Mod, PRelu. Integers wrap; an integer divided by zero gives 0, as does its remainder.
#include <cmath>
#include <limits>

#include "executor/kernels/binary_tables.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

template <class F>
PreparedKernel of_floats(PrepareContext& context, F f) {
  return dispatch<float, double, Float16, Bfloat16>(
      context.element(0), [&](auto tag) { return combine_kernel<decltype(tag), decltype(tag)>(context, f); });
}

// For operations whose result has the same bits for signed and unsigned integers.
template <class F>
PreparedKernel of_any_sign(PrepareContext& context, F f) {
  if (ir::is_float(context.element(0))) return of_floats(context, f);
  return by_size(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    using Wide =
        std::common_type_t<T, unsigned>;  // small unsigned integers would become int, which overflows
    return combine_kernel<T, T>(context, [f](T a, T b) { return static_cast<T>(f(Wide{a}, Wide{b})); });
  });
}

template <class F>
PreparedKernel of_integers(PrepareContext& context, F f) {
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    return combine_kernel<T, T>(context, f);
  });
}

PreparedKernel add(PrepareContext& context) {
  return of_any_sign(context, [](auto a, auto b) { return a + b; });
}

PreparedKernel sub(PrepareContext& context) {
  return of_any_sign(context, [](auto a, auto b) { return a - b; });
}

PreparedKernel mul(PrepareContext& context) {
  return of_any_sign(context, [](auto a, auto b) { return a * b; });
}

// The one quotient that does not fit is the most negative number by -1: it wraps.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}

// With the sign of the dividend.
template <class T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

// With the sign of the divisor.
template <class T>
T modulus(T a, T b) {
  const T rest = remainder(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
  }
  return rest;
}

// With the sign of the divisor, zeros too.
template <class T>
T float_modulus(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}

PreparedKernel div(PrepareContext& context) {
  if (ir::is_float(context.element(0))) return of_floats(context, [](auto a, auto b) { return a / b; });
  return of_integers(context, [](auto a, auto b) { return quotient(a, b); });
}

PreparedKernel mod(PrepareContext& context) {
  const bool fmod = context.get_int("fmod") != 0;
  if (ir::is_float(context.element(0))) {
    if (fmod) return of_floats(context, [](auto a, auto b) { return std::fmod(a, b); });
    return of_floats(context, [](auto a, auto b) { return float_modulus(a, b); });
  }
  if (fmod) return of_integers(context, [](auto a, auto b) { return remainder(a, b); });
  return of_integers(context, [](auto a, auto b) { return modulus(a, b); });
}

PreparedKernel prelu(PrepareContext& context) {
  const auto f = [](auto x, auto slope) {
    using T = decltype(x);
    const T scaled = static_cast<T>(x * slope);
    return x < T(0) ? scaled : x;
  };
  if (ir::is_float(context.element(0))) return of_floats(context, f);
  return dispatch<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) {
        using T = decltype(tag);
        using Bits = std::make_unsigned_t<T>;
        return combine_kernel<T, T>(context, [](T x, T slope) {
          return x < T(0) ? static_cast<T>(static_cast<Bits>(x) * static_cast<Bits>(slope)) : x;
        });
      });
}

}  // namespace

std::span<const KernelSpec> arithmetic_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Add", .prepare = add, .in_place = 3}, {.name = "Sub", .prepare = sub, .in_place = 3},
      {.name = "Mul", .prepare = mul, .in_place = 3}, {.name = "Div", .prepare = div, .in_place = 3},
      {.name = "Mod", .prepare = mod, .in_place = 3}, {.name = "PRelu", .prepare = prelu, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
