// Micro-batches for models of known types, as one array for a session or each for itself.
#pragma once

#include <random>
#include <vector>

#include "ir/tensor.h"

namespace podium::testing {

/// Floats in [-1, 1); whole numbers are 0 or 1, which is a legal word or class everywhere.
ir::Tensor random_tensor(const ir::Type& type, std::mt19937& random);

/// The first `count` tensors as one array with a dimension more in front.
ir::Tensor joined(const std::vector<ir::Tensor>& parts, std::size_t count);

}  // namespace podium::testing
