#include "executor/kernels/recurrent_activation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "executor/kernels/fast_math.h"
#include "ir/error.h"

namespace podium::kernels {
namespace {

using Function = Activation::Function;

struct Known {
  std::string_view name;
  Function function;
  std::optional<double> alpha = {};
  std::optional<double> beta = {};
};

constexpr std::array<Known, 11> kKnown{{
    {"relu", Function::Relu},
    {"tanh", Function::Tanh},
    {"sigmoid", Function::Sigmoid},
    {"affine", Function::Affine, 1.0, 0.0},
    {"leakyrelu", Function::LeakyRelu, 0.01},
    {"thresholdedrelu", Function::ThresholdedRelu, 1.0},
    {"scaledtanh", Function::ScaledTanh, 1.0, 1.0},
    {"hardsigmoid", Function::HardSigmoid, 0.2, 0.5},
    {"elu", Function::Elu, 1.0},
    {"softsign", Function::Softsign},
    {"softplus", Function::Softplus},
}};

const Known& find(const std::string& name) {
  std::string lower = name;
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const Known& known : kKnown) {
    if (known.name == lower) return known;
  }
  throw Error("there is no activation function '{}'", name);
}

// Hands out the parameters of one kind; `next` counts those handed out.
double parameter(const ir::FloatList& given, std::size_t place, std::size_t places, std::size_t& next,
                 const std::optional<double>& fallback) {
  if (!fallback) return 0;
  const std::size_t index = given.size() == places ? place : next;
  ++next;
  return index < given.size() ? given[index] : *fallback;
}

template <class T, class Function>
void for_all(T* x, std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = function(x[i]);
}

template <class T>
void apply(const Activation& activation, T* x, std::int64_t count) {
  const T alpha = static_cast<T>(activation.alpha);
  const T beta = static_cast<T>(activation.beta);
  constexpr T kZero{0};
  constexpr T kOne{1};
  switch (activation.function) {
    case Function::Relu:
      return for_all(x, count, [=](T v) { return v > kZero ? v : kZero; });
    case Function::Tanh:
      return for_all(x, count, [](T v) { return fast_tanh(v); });
    case Function::Sigmoid:
      return for_all(x, count, [](T v) { return fast_sigmoid(v); });
    case Function::Affine:
      return for_all(x, count, [=](T v) { return alpha * v + beta; });
    case Function::LeakyRelu:
      return for_all(x, count, [=](T v) { return v >= kZero ? v : alpha * v; });
    case Function::ThresholdedRelu:
      return for_all(x, count, [=](T v) { return v > alpha ? v : kZero; });
    case Function::ScaledTanh:
      return for_all(x, count, [=](T v) { return alpha * fast_tanh(beta * v); });
    case Function::HardSigmoid:
      return for_all(x, count, [=](T v) { return std::min(std::max(alpha * v + beta, kZero), kOne); });
    case Function::Elu:
      return for_all(x, count, [=](T v) { return v >= kZero ? v : alpha * fast_expm1(v); });
    case Function::Softsign:
      return for_all(x, count, [=](T v) { return v / (kOne + std::abs(v)); });
    case Function::Softplus:
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

std::vector<Activation> read_activations(const ir::StringList& names, const ir::FloatList& alphas,
                                         const ir::FloatList& betas) {
  std::vector<Activation> activations;
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Known& known = find(names[i]);
    activations.push_back({known.function, parameter(alphas, i, names.size(), next_alpha, known.alpha),
                           parameter(betas, i, names.size(), next_beta, known.beta)});
  }
  return activations;
}

void activate(const Activation& activation, double clip, float* x, std::int64_t count) {
  activate_clipped(activation, clip, x, count);
}

void activate(const Activation& activation, double clip, double* x, std::int64_t count) {
  activate_clipped(activation, clip, x, count);
}

}  // namespace podium::kernels
