// Functions of one number: powers, logarithms, trigonometry, rounding.
#include <cmath>

#include "executor/kernels/tools/elementwise.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/unary_tables.h"

namespace podium::kernels {
namespace {

// Integers are truncated towards zero after computing in double.
PreparedKernel erf(PrepareContext& context) {
  if (!ir::is_integer(context.element(0))) return float_kernel(context, [](auto x) { return fast_erf(x); });
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(context.element(0), [](auto tag) {
    using T = decltype(tag);
    return map_kernel<T, T>([](T x) { return std::erf(static_cast<double>(x)); });
  });
}

}  // namespace

std::span<const KernelSpec> math_kernels() {
  static const std::vector<KernelSpec> kKernels{
      float_row("Reciprocal", [](auto x) { return decltype(x)(1) / x; }),
      float_row("Sqrt", [](auto x) { return std::sqrt(x); }),
      float_row("Exp", [](auto x) { return fast_exp(x); }),
      float_row("Log", [](auto x) { return fast_log(x); }),
      float_row("Floor", [](auto x) { return std::floor(x); }),
      float_row("Ceil", [](auto x) { return std::ceil(x); }),
      float_row("Round", [](auto x) { return std::nearbyint(x); }),
      {.name = "Erf", .prepare = erf, .in_place = 1},
      float_row("Sin", [](auto x) { return std::sin(x); }),
      float_row("Cos", [](auto x) { return std::cos(x); }),
      float_row("Tan", [](auto x) { return std::tan(x); }),
      float_row("Asin", [](auto x) { return std::asin(x); }),
      float_row("Acos", [](auto x) { return std::acos(x); }),
      float_row("Atan", [](auto x) { return std::atan(x); }),
      float_row("Sinh", [](auto x) { return std::sinh(x); }),
      float_row("Cosh", [](auto x) { return std::cosh(x); }),
      float_row("Tanh", [](auto x) { return fast_tanh(x); }),
      float_row("Asinh", [](auto x) { return std::asinh(x); }),
      float_row("Acosh", [](auto x) { return std::acosh(x); }),
      float_row("Atanh", [](auto x) { return std::atanh(x); }),
  };
  return kKernels;
}

}  // namespace podium::kernels
