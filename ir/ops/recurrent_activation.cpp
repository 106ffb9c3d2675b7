#include "ir/ops/recurrent_activation.h"

#include <array>
#include <cctype>
#include <optional>

#include "ir/error.h"

namespace podium::ir {
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
double parameter(const FloatList& given, std::size_t place, std::size_t places, std::size_t& next,
                 const std::optional<double>& fallback) {
  if (!fallback) return 0;
  const std::size_t index = given.size() == places ? place : next;
  ++next;
  return index < given.size() ? given[index] : *fallback;
}

}  // namespace

std::vector<Activation> read_activations(const StringList& names, const FloatList& alphas,
                                         const FloatList& betas) {
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

}  // namespace podium::ir
