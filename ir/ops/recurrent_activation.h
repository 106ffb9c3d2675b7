// The activation functions of recurrent cells, as their op names them.
#pragma once

#include <vector>

#include "ir/attribute.h"

namespace podium::ir {

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
std::vector<Activation> read_activations(const StringList& names, const FloatList& alphas,
                                         const FloatList& betas);

}  // namespace podium::ir
