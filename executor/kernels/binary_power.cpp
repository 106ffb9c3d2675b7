// Pow, whose operands may differ in type, and Where, which moves elements of any type.
// Powers of integers are products by squaring and wrap; other powers widen both operands to double (or int64)
// and round the result to the base's type. An exponent that is one number and 1, 2, 3, 0.5 or -1 is done by
// products, roots and quotients. Where is instantiated by element size, with a loop for each kind of
// broadcast.
#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "executor/kernels/binary_tables.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Float16;

// Powers of an integer wrap as its products do. A negative power is 0 unless the base is 1 or -1.
template <class T>
T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  using Bits = std::make_unsigned_t<T>;
  Bits result = 1;
  Bits square = static_cast<Bits>(base);
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Rounds towards zero. A number out of range becomes the nearest one in range, NaN becomes 0.
template <class T>
T truncated(double x) {
  if (std::isnan(x)) return 0;
  if (x >= -static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::max();
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

// Elements as double, or as int64 for integers: every type's numbers are exact in one of the two.
template <class Wide>
std::vector<Wide> widened(const Tensor& tensor) {
  std::vector<Wide> wide(tensor.size());
  const auto convert = [&](auto tag) {
    const auto values = tensor.values<decltype(tag)>();
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if constexpr (is_narrow_float<decltype(tag)>) {
        wide[i] = static_cast<Wide>(static_cast<float>(values[i]));
      } else {
        wide[i] = static_cast<Wide>(values[i]);
      }
    }
    return true;
  };
  dispatch<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(tensor.type(), convert);
  return wide;
}

// Base and exponent in the same wide type, result as the base's.
template <class T, class Wide, class F>
PreparedKernel widened_power(const PrepareContext& context, F f) {
  return [plan = plan_of_two(context), f](const RunContext& run) {
    const std::vector<Wide> base = widened<Wide>(run.input(0));
    const std::vector<Wide> exponent = widened<Wide>(run.input(1));
    T* out = run.output(0).data<T>();
    for_each_row(plan, [&](std::int64_t at, const Offsets& offsets, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        const Wide x = base[offsets[0] + i * plan.steps[0]];
        out[at + i] = f(x, exponent[offsets[1] + i * plan.steps[1]]);
      }
    });
  };
}

PreparedKernel integer_base(PrepareContext& context) {
  const bool whole = ir::is_integer(context.element(1)) && context.element(1) != DataType::Uint64;
  return dispatch<std::int32_t, std::int64_t>(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    if (whole) {
      return widened_power<T, std::int64_t>(
          context, [](std::int64_t x, std::int64_t y) { return integer_power(static_cast<T>(x), y); });
    }
    return widened_power<T, double>(context, [](double x, double y) { return truncated<T>(std::pow(x, y)); });
  });
}

// The exponents of most models are one number that needs no logarithm.
template <class T>
bool simple_power(double exponent, const T* x, T* y, std::int64_t count) {
  if (exponent == 1) {
    if (x != y) std::copy_n(x, count, y);
  } else if (exponent == 2) {
    map_elements(x, y, count, [](auto v) { return v * v; });
  } else if (exponent == 3) {
    map_elements(x, y, count, [](auto v) { return v * v * v; });
  } else if (exponent == 0.5) {
    // Unlike sqrt, pow gives +0 for -0 and infinity for -infinity.
    map_elements(x, y, count, [](auto v) {
      constexpr auto kInfinity = std::numeric_limits<decltype(v)>::infinity();
      const auto root = std::sqrt(v) + decltype(v)(0);
      return v == -kInfinity ? kInfinity : root;
    });
  } else if (exponent == -1) {
    map_elements(x, y, count, [](auto v) { return decltype(v)(1) / v; });
  } else {
    return false;
  }
  return true;
}

template <class T>
PreparedKernel float_base(PrepareContext& context) {
  const auto power = [](double x, double y) { return static_cast<T>(static_cast<float>(std::pow(x, y))); };
  PreparedKernel general;
  if constexpr (std::is_same_v<T, double>) {
    general = widened_power<T, double>(context, [](double x, double y) { return std::pow(x, y); });
  } else if (context.element(1) == context.element(0)) {
    general = combine_kernel<T, T>(context, [](float x, float y) { return std::pow(x, y); });
  } else {
    general = widened_power<T, double>(context, power);  // e.g. large integers, whose parity counts
  }
  const bool one_exponent = context.input(1).element_count() == 1;
  return [general, one_exponent](const RunContext& run) {
    const Tensor& base = run.input(0);
    if (one_exponent && base.size() == run.output(0).size()) {
      const double exponent = widened<double>(run.input(1))[0];
      if (simple_power(exponent, base.data<T>(), run.output(0).data<T>(), base.size())) return;
    }
    general(run);
  };
}

PreparedKernel pow(PrepareContext& context) {
  if (ir::is_integer(context.element(0))) return integer_base(context);
  return dispatch<float, double, Float16, Bfloat16>(
      context.element(0), [&](auto tag) { return float_base<decltype(tag)>(context); });
}

// By masks of bits: as a choice the compiler makes a branch of it, which random conditions mislead, and no
// vectors. out may be the operand that goes along.
template <std::int64_t kX, std::int64_t kY, class T>
void choose_row(const bool* chosen, const T* x, const T* y, T* out, std::int64_t count) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(chosen);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T mask = bytes[i] != 0 ? static_cast<T>(-1) : T(0);
    out[i] = static_cast<T>((x[i * kX] & mask) | (y[i * kY] & static_cast<T>(~mask)));
  }
}

template <class T>
PreparedKernel where_of(const PrepareContext& context) {
  Dims output = ir::broadcast(context.dims(0), ir::broadcast(context.dims(1), context.dims(2)));
  BroadcastPlan plan =
      plan_broadcast(output, std::array{&context.dims(0), &context.dims(1), &context.dims(2)});
  return [plan = std::move(plan)](const RunContext& run) {
    const bool* condition = run.input(0).data<bool>();
    const T* x = static_cast<const T*>(run.input(1).raw());
    const T* y = static_cast<const T*>(run.input(2).raw());
    T* out = static_cast<T*>(run.output(0).raw());
    for_each_row(plan, [&](std::int64_t at, const Offsets& offsets, std::int64_t count) {
      const bool* chosen = condition + offsets[0];
      const T* from_x = x + offsets[1];
      const T* from_y = y + offsets[2];
      if constexpr (std::is_unsigned_v<T>) {
        if (plan.steps == Offsets{1, 1, 1}) return choose_row<1, 1>(chosen, from_x, from_y, out + at, count);
        if (plan.steps == Offsets{1, 1, 0}) return choose_row<1, 0>(chosen, from_x, from_y, out + at, count);
        if (plan.steps == Offsets{1, 0, 1}) return choose_row<0, 1>(chosen, from_x, from_y, out + at, count);
      }
      for (std::int64_t i = 0; i < count; ++i)
        out[at + i] = chosen[i * plan.steps[0]] ? from_x[i * plan.steps[1]] : from_y[i * plan.steps[2]];
    });
  };
}

PreparedKernel where(PrepareContext& context) {
  if (context.element(1) == DataType::String) return where_of<std::string>(context);
  if (context.element(1) == DataType::Complex128) return where_of<std::complex<double>>(context);
  return by_size(context.element(1), [&](auto tag) { return where_of<decltype(tag)>(context); });
}

}  // namespace

std::span<const KernelSpec> power_and_choice_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Pow", .prepare = pow, .in_place = 1},
      {.name = "Where", .prepare = where},
  };
  return kKernels;
}

}  // namespace podium::kernels
