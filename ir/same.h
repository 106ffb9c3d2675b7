// Whether constants and attributes are the same, to the bit.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Tensors of more bytes are the same only where they share their memory.
inline constexpr std::size_t kLargestCompared = 4096;

bool same(const Tensor& a, const Tensor& b);
/// Bodies are the same only where they share their memory.
bool same_attribute(const Attribute& a, const Attribute& b);

}  // namespace podium::ir
