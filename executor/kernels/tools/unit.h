// Moving blocks of adjacent elements whose size is chosen once, outside the loop.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "ir/tensor.h"

namespace podium::kernels {

/// kUnit bytes at once; 0: one std::string.
template <int kUnit>
struct Unit {
  static void move(const std::byte* from, std::byte* to) { std::memcpy(to, from, kUnit); }
};
template <>
struct Unit<0> {
  static void move(const std::byte* from, std::byte* to) {
    *reinterpret_cast<std::string*>(to) = *reinterpret_cast<const std::string*>(from);
  }
};

/// The unit of one element of a type.
inline int unit_of(ir::DataType type) { return type == ir::DataType::String ? 0 : ir::storage_bytes(type); }

inline bool is_unit(std::size_t bytes) { return bytes > 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0; }

/// Calls `use` with std::integral_constant<int, unit>.
template <class Use>
void with_unit(int unit, Use&& use) {
  switch (unit) {
    case 0:
      return use(std::integral_constant<int, 0>{});
    case 1:
      return use(std::integral_constant<int, 1>{});
    case 2:
      return use(std::integral_constant<int, 2>{});
    case 4:
      return use(std::integral_constant<int, 4>{});
    case 8:
      return use(std::integral_constant<int, 8>{});
    case 16:
      return use(std::integral_constant<int, 16>{});
    default:
      IR_CHECK(false, "elements of {} bytes", unit);
  }
}

/// Calls `use(move, bytes)` where move(from, to) copies a block of `elements` adjacent elements and `bytes`
/// is the size of one block.
template <class Use>
void with_block(ir::DataType type, std::int64_t elements, Use&& use) {
  const std::size_t bytes = elements * ir::storage_bytes(type);
  const std::int64_t step = bytes;
  if (type == ir::DataType::String) {
    use(
        [elements](const std::byte* from, std::byte* to) {
          std::copy_n(reinterpret_cast<const std::string*>(from), elements,
                      reinterpret_cast<std::string*>(to));
        },
        step);
  } else if (is_unit(bytes)) {
    with_unit(bytes, [&](auto unit) { use(Unit<decltype(unit)::value>::move, step); });
  } else {
    use([bytes](const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); }, step);
  }
}

}  // namespace podium::kernels
