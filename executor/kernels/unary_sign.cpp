// Signs, limits, tests and negations.
#include <cmath>
#include <limits>

#include "executor/kernels/tools/elementwise.h"
#include "executor/kernels/unary_tables.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

// f is generic over float, double and the integers.
template <class F>
PreparedKernel number_kernel(PrepareContext& context, F f) {
  return dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                  std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) { return map_kernel<decltype(tag), decltype(tag)>(f); });
}

// The most negative integer has no opposite: it stays as it is.
template <class T>
T negative(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(x));
  } else {
    return -x;
  }
}

PreparedKernel abs(PrepareContext& context) {
  return number_kernel(context, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return std::fabs(x);
    } else {
      return x < decltype(x)(0) ? negative(x) : x;
    }
  });
}

PreparedKernel neg(PrepareContext& context) {
  return number_kernel(context, [](auto x) { return negative(x); });
}

PreparedKernel sign(PrepareContext& context) {
  return number_kernel(context, [](auto x) {
    using T = decltype(x);
    const T below = x < T(0) ? static_cast<T>(-1) : x;  // NaN and zeros stay
    return x > T(0) ? T(1) : below;
  });
}

// On bytes: of booleans the compiler makes no vectors.
PreparedKernel logical_not(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const auto* x = static_cast<const std::uint8_t*>(run.input(0).raw());
    auto* y = static_cast<std::uint8_t*>(run.output(0).raw());
    parallel_ranges(run.input(0).size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
      map_elements(x + begin, y + begin, end - begin, [](std::uint8_t byte) { return byte == 0; });
    });
  };
}

PreparedKernel bitwise_not(PrepareContext& context) {
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(context.element(0), [](auto tag) {
    using T = decltype(tag);
    return map_kernel<T, T>([](T x) { return static_cast<T>(~x); });
  });
}

// f tells something about a float; the narrowest floats are widened by blocks.
template <class F>
PreparedKernel test_kernel(PrepareContext& context, F f) {
  const DataType type = context.element(0);
  if (type == DataType::Float) return map_kernel<float, bool>(f);
  if (type == DataType::Double) return map_kernel<double, bool>(f);
  return [f](const RunContext& run) {
    const Tensor& x = run.input(0);
    bool* y = run.output(0).data<bool>();
    float wide[kBlock];
    for (std::int64_t first = 0; first < x.size(); first += kBlock) {
      const std::int64_t count = std::min(kBlock, x.size() - first);
      to_float(x, first, count, wide);
      map_elements(wide, y + first, count, f);
    }
  };
}

PreparedKernel is_nan(PrepareContext& context) {
  return test_kernel(context, [](auto x) { return x != x; });
}

PreparedKernel is_inf(PrepareContext& context) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // no number equals it
  const double high = context.get_int("detect_positive") != 0 ? kInfinity : kNothing;
  const double low = context.get_int("detect_negative") != 0 ? -kInfinity : kNothing;
  return test_kernel(context, [high, low](auto x) {
    using T = decltype(x);
    return (x == static_cast<T>(high)) | (x == static_cast<T>(low));
  });
}

template <class T>
T bound(const RunContext& run, std::size_t i, T fallback) {
  return run.has_input(i) ? *run.input(i).data<T>() : fallback;
}

// Where min is above max, every element is max.
template <class T>
PreparedKernel clip_of() {
  using Wide = std::conditional_t<is_narrow_float<T>, float, T>;
  return [](const RunContext& run) {
    using Limits = std::numeric_limits<Wide>;
    constexpr Wide kLow = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    constexpr Wide kHigh = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const Wide low = static_cast<Wide>(bound(run, 1, static_cast<T>(kLow)));
    const Wide high = static_cast<Wide>(bound(run, 2, static_cast<T>(kHigh)));
    map_kernel<T, T>([low, high](Wide x) {
      const Wide above = x < low ? low : x;
      return above > high ? high : above;
    })(run);
  };
}

PreparedKernel clip(PrepareContext& context) {
  return dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                  std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      context.element(0), [](auto tag) { return clip_of<decltype(tag)>(); });
}

}  // namespace

std::span<const KernelSpec> sign_and_test_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Abs", .prepare = abs, .in_place = 1},
      {.name = "Neg", .prepare = neg, .in_place = 1},
      {.name = "Sign", .prepare = sign, .in_place = 1},
      {.name = "Not", .prepare = logical_not, .in_place = 1},
      {.name = "BitwiseNot", .prepare = bitwise_not, .in_place = 1},
      {.name = "IsNaN", .prepare = is_nan},
      {.name = "IsInf", .prepare = is_inf},
      {.name = "Clip", .prepare = clip, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
