// The activation functions of recurrent cells, applied to stretches of numbers.
#pragma once

#include <cstdint>

#include "ir/ops/recurrent_activation.h"

namespace podium::kernels {

using ir::Activation;
using ir::read_activations;

/// x = activation(x), each cut to [-clip, clip] first when clip is positive.
void activate(const Activation& activation, double clip, float* x, std::int64_t count);
void activate(const Activation& activation, double clip, double* x, std::int64_t count);

}  // namespace podium::kernels
