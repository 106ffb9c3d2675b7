// Orders of axes, as Transpose has them: entry i is the axis that comes to place i.
#pragma once

#include <cstdint>
#include <vector>

namespace podium::ir {

/// What belongs to each axis, in another order; of an order the one that both make, one after the other.
inline std::vector<std::int64_t> permuted(const std::vector<std::int64_t>& of_axes,
                                          const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> result;
  result.reserve(order.size());
  for (std::int64_t axis : order) result.push_back(of_axes[axis]);
  return result;
}

/// The order that undoes another.
inline std::vector<std::int64_t> inverse_order(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return back;
}

}  // namespace podium::ir
