// Cuts a row of items into contiguous parts so that the slowest part is as fast as it can be.
#pragma once

#include <cstdint>
#include <vector>

namespace podium::annotate {

/// What goes to one part as a whole.
struct Item {
  double seconds = 0;
  std::int64_t weight_bytes = 0;      ///< there during the whole run: they add up in a part
  std::int64_t activation_bytes = 0;  ///< while the item runs: the largest of a part counts
  std::int64_t crossing_bytes = 0;    ///< sent when a part begins with this item
};

/// The first item of each of exactly `parts` parts, none of them empty; needs at least as many items.
/// Of all such cuts in which no part has more than `memory_bytes`, one with the smallest largest part in
/// seconds, and of those one with the fewest crossing bytes. When none has so little memory, the same among
/// those whose largest part has the fewest bytes. `memory_bytes` 0: no limit. Time O(items x parts).
std::vector<std::size_t> cut(const std::vector<Item>& items, std::size_t parts,
                             std::int64_t memory_bytes = 0);

}  // namespace podium::annotate
