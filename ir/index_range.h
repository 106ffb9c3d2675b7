// Indices along an axis.
#pragma once

#include <compare>
#include <cstdint>

namespace podium::ir {

/// Indices from `begin` to before `end`.
struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  auto operator<=>(const IndexRange&) const = default;
};

}  // namespace podium::ir
