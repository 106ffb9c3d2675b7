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

// A function of angles: by vectors near zero, by the C library far from it.
struct Sine {
  static float near(float x) { return fast_sin(x); }
  template <class T>
  static T anywhere(T x) {
    return std::sin(x);
  }
};

struct Cosine {
  static float near(float x) { return fast_cos(x); }
  template <class T>
  static T anywhere(T x) {
    return std::cos(x);
  }
};

bool is_near(float angle) { return std::abs(angle) <= kMostNearAngle; }

// At most kBlock angles; y is memory of its own.
template <class F>
void map_block(const float* x, float* y, std::int64_t count) {
  std::int64_t far = 0;
  for (std::int64_t i = 0; i < count; ++i) far += is_near(x[i]) ? 0 : 1;
  map_elements(x, y, count, [](float angle) { return F::near(angle); });
  for (std::int64_t i = 0; far > 0 && i < count; ++i) {
    if (!is_near(x[i])) y[i] = F::anywhere(x[i]);
  }
}

template <class F, class T>
void map_angles(const T* x, T* y, std::int64_t count) {
  if constexpr (std::is_same_v<T, double>) {
    map_elements(x, y, count, F::template anywhere<double>);
  } else {
    [[maybe_unused]] float wide[kBlock];
    float results[kBlock];
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t size = std::min(kBlock, count - first);
      if constexpr (std::is_same_v<T, float>) {
        map_block<F>(x + first, results, size);
        std::copy_n(results, size, y + first);
      } else {
        to_float(x + first, wide, size);
        map_block<F>(wide, results, size);
        from_float(results, y + first, size);
      }
    }
  }
}

template <class F>
PreparedKernel of_angles(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16>(
      context.element(0), [](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        return [](const RunContext& run) {
          const T* x = run.input(0).data<T>();
          T* y = run.output(0).data<T>();
          parallel_ranges(run.input(0).size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
            map_angles<F>(x + begin, y + begin, end - begin);
          });
        };
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
      {.name = "Sin", .prepare = of_angles<Sine>, .in_place = 1},
      {.name = "Cos", .prepare = of_angles<Cosine>, .in_place = 1},
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
