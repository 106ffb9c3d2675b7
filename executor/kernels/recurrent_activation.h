// The activation functions of recurrent cells, applied to stretches of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/attribute.h"

namespace podium::kernels {

struct Activation {
  enum class Function {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Function function = Function::Tanh;
  double alpha = 0;
  double beta = 0;
};

/// One activation for each name. `alphas` and `betas` are given one for each name, or in order to those
/// functions that have such a parameter; what is not given has the function's default. Error for an unknown
/// name.
std::vector<Activation> read_activations(const ir::StringList& names, const ir::FloatList& alphas,
                                         const ir::FloatList& betas);

/// x = activation(x), each cut to [-clip, clip] first when clip is positive.
void activate(const Activation& activation, double clip, float* x, std::int64_t count);
void activate(const Activation& activation, double clip, double* x, std::int64_t count);

}  // namespace podium::kernels
