// Activation functions. NaN stays NaN in all of them.
// Each is one expression of fast_exp, fast_tanh and their kin, instantiated for float and double and mapped
// over the elements; half types go by way of float in blocks. Comparisons are written so that NaN takes the
// branch that keeps it.
#include <cmath>

#include "executor/kernels/tools/elementwise.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/unary_tables.h"

namespace podium::kernels {
namespace {

template <class T>
T relu(T x) {
  return x < T(0) ? T(0) : x;
}

template <class T>
T hard_sigmoid(T x, T alpha, T beta) {
  const T y = alpha * x + beta;
  const T low = y < T(0) ? T(0) : y;
  return low > T(1) ? T(1) : low;
}

template <class T>
inline T softplus(T x) {
  const T tail = fast_log1p(fast_exp(-std::fabs(x)));
  return relu(x) + tail;
}

// x tanh(softplus(x)): with e = exp(x), tanh(log(1 + e)) is e (e + 2) / (e (e + 2) + 2).
template <class T>
T mish(T x) {
  const T e = fast_exp(x > T(30) ? T(30) : x);
  const T n = e * (e + T(2));
  return x * (n / (n + T(2)));
}

template <class T>
T swish(T x, T alpha) {
  return x * fast_sigmoid(alpha * x);
}

PreparedKernel prepare_relu(PrepareContext& context) {
  if (ir::is_float(context.element(0))) return float_kernel(context, [](auto x) { return relu(x); });
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(context.element(0), [](auto tag) {
    using T = decltype(tag);
    return map_kernel<T, T>([](T x) { return relu(x); });
  });
}

PreparedKernel hard_sigmoid_kernel(PrepareContext& context) {
  return float_kernel(context, [alpha = context.get_float("alpha"), beta = context.get_float("beta")](
                                   auto x) { return hard_sigmoid<decltype(x)>(x, alpha, beta); });
}

PreparedKernel hard_swish(PrepareContext& context) {
  return float_kernel(context, [](auto x) {
    using T = decltype(x);
    return x * hard_sigmoid<T>(x, T(1) / T(6), T(0.5));
  });
}

PreparedKernel leaky_relu(PrepareContext& context) {
  return float_kernel(context, [alpha = context.get_float("alpha")](auto x) {
    using T = decltype(x);
    const T scaled = T(alpha) * x;
    return x < T(0) ? scaled : x;
  });
}

PreparedKernel elu(PrepareContext& context) {
  return float_kernel(context, [alpha = context.get_float("alpha")](auto x) {
    using T = decltype(x);
    const T low = T(alpha) * fast_expm1(x);
    return x < T(0) ? low : x;
  });
}

PreparedKernel selu(PrepareContext& context) {
  return float_kernel(context,
                      [alpha = context.get_float("alpha"), gamma = context.get_float("gamma")](auto x) {
                        using T = decltype(x);
                        const T low = T(alpha) * fast_expm1(x);
                        return T(gamma) * (x < T(0) ? low : x);
                      });
}

PreparedKernel celu(PrepareContext& context) {
  if (context.get_float("alpha") == 0) throw Error("alpha is 0, it must not be");
  return float_kernel(context, [alpha = context.get_float("alpha")](auto x) {
    using T = decltype(x);
    const T low = T(alpha) * fast_expm1(x / T(alpha));
    const T high = relu(x);
    return high + (low > T(0) ? T(0) : low);
  });
}

PreparedKernel thresholded_relu(PrepareContext& context) {
  return float_kernel(context, [alpha = context.get_float("alpha")](auto x) {
    using T = decltype(x);
    return x <= T(alpha) ? T(0) : x;
  });
}

PreparedKernel gelu(PrepareContext& context) {
  const std::string& approximate = context.get_string("approximate");
  if (approximate == "tanh") {
    return float_kernel(context, [](auto x) {
      using T = decltype(x);
      constexpr T kRootOfTwoOverPi = T(0.797884560802865355879892119868763737L);
      return T(0.5) * x * (T(1) + fast_tanh(kRootOfTwoOverPi * (x + T(0.044715) * x * x * x)));
    });
  }
  if (approximate != "none") throw Error("approximate is \"{}\", \"none\" or \"tanh\" needed", approximate);
  return float_kernel(context, [](auto x) {
    using T = decltype(x);
    constexpr T kRootOfHalf = T(0.707106781186547524400844362104849039L);
    return T(0.5) * x * (T(1) + fast_erf(x * kRootOfHalf));
  });
}

PreparedKernel prepare_swish(PrepareContext& context) {
  return float_kernel(context,
                      [alpha = context.get_float("alpha")](auto x) { return swish<decltype(x)>(x, alpha); });
}

template <class T>
void swiglu_block(const T* gate, const T* value, T* y, std::int64_t count, float alpha) {
  if constexpr (is_narrow_float<T>) {
    float wide_gate[kBlock];
    float wide_value[kBlock];
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t size = std::min(kBlock, count - first);
      to_float(gate + first, wide_gate, size);
      to_float(value + first, wide_value, size);
      swiglu_block(wide_gate, wide_value, wide_gate, size, alpha);
      from_float(wide_gate, y + first, size);
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = swish<T>(gate[i], alpha) * value[i];
  }
}

PreparedKernel swiglu(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        return [alpha = context.get_float("alpha")](const RunContext& run) {
          const T* gate = run.input(0).data<T>();
          const T* value = run.input(1).data<T>();
          T* y = run.output(0).data<T>();
          parallel_ranges(run.input(0).size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
            swiglu_block(gate + begin, value + begin, y + begin, end - begin, alpha);
          });
        };
      });
}

// Integers are computed in double and truncated.
PreparedKernel shrink(PrepareContext& context) {
  const auto f = [bias = context.get_float("bias"), lambd = context.get_float("lambd")](auto x) {
    using T = std::conditional_t<std::is_integral_v<decltype(x)>, double, decltype(x)>;
    const T wide = static_cast<T>(x);
    const T upper = wide > T(lambd) ? wide - T(bias) : T(0);
    const T result = wide < -T(lambd) ? wide + T(bias) : upper;
    return x != x ? wide : result;
  };
  if (ir::is_float(context.element(0))) return float_kernel(context, f);
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                  std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) { return map_kernel<decltype(tag), decltype(tag)>(f); });
}

}  // namespace

std::span<const KernelSpec> activation_kernels() {
  static const std::vector<KernelSpec> kKernels{
      float_row("Sigmoid", [](auto x) { return fast_sigmoid(x); }),
      float_row("Softplus", [](auto x) { return softplus(x); }),
      float_row("Softsign", [](auto x) { return x / (decltype(x)(1) + std::fabs(x)); }),
      float_row("Mish", [](auto x) { return mish(x); }),
      {.name = "HardSigmoid", .prepare = hard_sigmoid_kernel, .in_place = 1},
      {.name = "HardSwish", .prepare = hard_swish, .in_place = 1},
      {.name = "Relu", .prepare = prepare_relu, .in_place = 1},
      {.name = "LeakyRelu", .prepare = leaky_relu, .in_place = 1},
      {.name = "Elu", .prepare = elu, .in_place = 1},
      {.name = "Selu", .prepare = selu, .in_place = 1},
      {.name = "Celu", .prepare = celu, .in_place = 1},
      {.name = "ThresholdedRelu", .prepare = thresholded_relu, .in_place = 1},
      {.name = "Gelu", .prepare = gelu, .in_place = 1},
      {.name = "Swish", .prepare = prepare_swish, .in_place = 1},
      {.name = "QuickGelu", .prepare = prepare_swish, .domain = "com.microsoft", .in_place = 1},
      {.name = "SwiGLU", .prepare = swiglu, .in_place = 3},
      {.name = "Shrink", .prepare = shrink, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
