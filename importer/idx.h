// IDX, the format of MNIST: two zeros, the element type, the rank, big-endian sizes and elements.
#pragma once

#include <span>

#include "ir/tensor.h"

namespace podium::importer {

bool looks_like_idx(std::span<const char> bytes);
ir::Tensor tensor_from_idx(std::span<const char> bytes);

}  // namespace podium::importer
