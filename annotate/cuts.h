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
  std::int64_t stash_bytes = 0;       ///< of each micro-batch on its way: they add up in a part
};

/// What no part may have more of.
struct Room {
  std::int64_t bytes = 0;  ///< 0: no limit
  /// Stash depth of each part: how many micro-batches' stashes it holds, never more than the part before it.
  /// Empty: one.
  std::vector<std::int64_t> stash_depths = {};
};

/// The first item of each of exactly `parts` parts, none of them empty; needs at least as many items.
/// Of all such cuts in which no part needs more than its room, one with the smallest largest part in seconds,
/// and of those one with the fewest crossing bytes. When none needs so little, the same among those whose
/// largest part has the fewest bytes. Time O(items x parts).
std::vector<std::size_t> cut(const std::vector<Item>& items, std::size_t parts, const Room& room = {});

}  // namespace podium::annotate
