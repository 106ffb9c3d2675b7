// Elements of one tensor become those of another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "ir/tensor.h"

namespace podium::ir {

/// Copies `count` elements, as they follow each other, from the one numbered `first` on to those of `to` from
/// `at` on. Both are of one type, strings too; whoever calls owns the only copy of `to`.
inline void copy_elements(const Tensor& from, std::int64_t first, Tensor& to, std::int64_t at,
                          std::int64_t count) {
  IR_CHECK(from.type() == to.type() && first + count <= from.size() && at + count <= to.size(),
           "{} elements from {} of {} to {} of {}", count, first, to_string(from.type_and_dims()), at,
           to_string(to.type_and_dims()));
  if (count == 0) return;
  if (from.type() == DataType::String) {
    std::copy_n(from.data<std::string>() + first, count, to.data<std::string>() + at);
    return;
  }
  const std::size_t bytes = storage_bytes(from.type());
  std::memcpy(static_cast<std::byte*>(to.raw()) + at * bytes,
              static_cast<const std::byte*>(from.raw()) + first * bytes, count * bytes);
}

}  // namespace podium::ir
