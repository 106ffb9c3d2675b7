// Numbers as unsigned integers of the same order, so that ordering is one comparison whatever the type.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ir/element.h"

namespace podium::kernels {

/// a < b as numbers exactly when order_key(a) < order_key(b); -0 equals 0, and every NaN is one number
/// greater than all others. The key has 32 bits where the type fits in them, else 64.
template <class T>
auto order_key(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<std::uint32_t>(value);
  } else if constexpr (std::is_integral_v<T>) {
    using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    using Wide = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<Key>, Key>;
    constexpr Key kSign = std::is_signed_v<T> ? Key{1} << (sizeof(Key) * 8 - 1) : 0;
    return static_cast<Key>(static_cast<Key>(static_cast<Wide>(value)) ^ kSign);
  } else if constexpr (std::is_floating_point_v<T>) {
    using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);
    if (std::isnan(value)) return ~Key{0};
    const Key bits = std::bit_cast<Key>(value + T{0});  // -0 + 0 is 0
    return (bits & kSign) != 0 ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign);
  } else {
    return order_key(static_cast<float>(value));
  }
}

}  // namespace podium::kernels
