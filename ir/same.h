// Whether constants and attributes are the same, to the bit, and hashes to find those that may be.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Tensors of more bytes are the same only where they share their memory.
inline constexpr std::size_t kLargestCompared = std::size_t{1} << 20;
/// So many of their bytes go into a hash.
inline constexpr std::size_t kMostHashed = 4096;

bool same(const Tensor& a, const Tensor& b);
/// Bodies are the same only where they share their memory.
bool same_attribute(const Attribute& a, const Attribute& b);
/// Makes the hash one of what it was of, and of the value behind it.
inline void mix(std::size_t& hash, std::size_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
}

}  // namespace podium::ir
