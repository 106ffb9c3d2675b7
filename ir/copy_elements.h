// Elements of one tensor become those of another: some that follow each other, or those of a box.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "ir/box.h"
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

/// A tensor of shape `dims` whose elements lie in another one, or in a view of it, from the one numbered
/// `first` on.
struct TensorPlace {
  std::span<const std::int64_t> dims;
  std::int64_t first = 0;
};

/// Copies the elements of a box of what lies in `whole` to those of `part`, as they follow each other.
inline void copy_out_of_box(const Tensor& whole, const TensorPlace& place, const Box& box, Tensor& part) {
  std::int64_t at = 0;
  for_each_run(place.dims, box, [&](std::int64_t first, std::int64_t count) {
    copy_elements(whole, place.first + first, part, at, count);
    at += count;
  });
}
/// The reverse.
inline void copy_into_box(const Tensor& part, Tensor& whole, const TensorPlace& place, const Box& box) {
  std::int64_t at = 0;
  for_each_run(place.dims, box, [&](std::int64_t first, std::int64_t count) {
    copy_elements(part, at, whole, place.first + first, count);
    at += count;
  });
}

}  // namespace podium::ir
