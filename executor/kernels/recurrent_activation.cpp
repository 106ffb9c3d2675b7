#include "executor/kernels/recurrent_activation.h"

#include <algorithm>

#include "executor/kernels/tools/fast_math.h"

namespace podium::kernels {
namespace {

template <class T, class F>
void for_all(T* x, std::int64_t count, const F& function) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = function(x[i]);
}

template <class T>
void apply(const Activation& activation, T* x, std::int64_t count) {
  const T alpha = static_cast<T>(activation.alpha);
  const T beta = static_cast<T>(activation.beta);
  constexpr T kZero{0};
  constexpr T kOne{1};
  switch (activation.function) {
    case Activation::Function::Relu:
      return for_all(x, count, [=](T v) { return v > kZero ? v : kZero; });
    case Activation::Function::Tanh:
      return for_all(x, count, [](T v) { return fast_tanh(v); });
    case Activation::Function::Sigmoid:
      return for_all(x, count, [](T v) { return fast_sigmoid(v); });
    case Activation::Function::Affine:
      return for_all(x, count, [=](T v) { return alpha * v + beta; });
    case Activation::Function::LeakyRelu:
      return for_all(x, count, [=](T v) { return v >= kZero ? v : alpha * v; });
    case Activation::Function::ThresholdedRelu:
      return for_all(x, count, [=](T v) { return v > alpha ? v : kZero; });
    case Activation::Function::ScaledTanh:
      return for_all(x, count, [=](T v) { return alpha * fast_tanh(beta * v); });
    case Activation::Function::HardSigmoid:
      return for_all(x, count, [=](T v) { return std::min(std::max(alpha * v + beta, kZero), kOne); });
    case Activation::Function::Elu:
      return for_all(x, count, [=](T v) { return v >= kZero ? v : alpha * fast_expm1(v); });
    case Activation::Function::Softsign:
      return for_all(x, count, [=](T v) { return v / (kOne + std::abs(v)); });
    case Activation::Function::Softplus:
      return for_all(x, count, [=](T v) { return std::max(v, kZero) + fast_log1p(fast_exp(-std::abs(v))); });
  }
}

template <class T>
void activate_clipped(const Activation& activation, double clip, T* x, std::int64_t count) {
  if (clip > 0) {
    const T limit = static_cast<T>(clip);
    for_all(x, count, [=](T v) { return std::min(std::max(v, -limit), limit); });
  }
  apply(activation, x, count);
}

}  // namespace

void activate(const Activation& activation, double clip, float* x, std::int64_t count) {
  activate_clipped(activation, clip, x, count);
}

void activate(const Activation& activation, double clip, double* x, std::int64_t count) {
  activate_clipped(activation, clip, x, count);
}

}  // namespace podium::kernels
