// Cuts a row of items into contiguous parts so that the slowest part is as fast as it can be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace podium::annotate {

/// A tensor that several items read: each part that has a reader of it holds it, once. The first reader's
/// part owns it, and counts it with the item's weights.
struct SharedTensor {
  std::int64_t bytes = 0;
  std::optional<std::size_t> before = {};  ///< the item that reads it before this one; nothing for the first
  std::optional<std::size_t> behind = {};  ///< the item that reads it behind this one
};

/// An item, which goes to one part as a whole.
struct Item {
  double seconds = 0;
  std::int64_t weight_bytes = 0;      ///< held during the whole run: items of a part add up
  std::int64_t activation_bytes = 0;  ///< held while the item runs: the largest of a part counts
  std::int64_t crossing_bytes = 0;    ///< sent when a part begins with this item
  std::int64_t stash_bytes = 0;       ///< held for each micro-batch under way: items of a part add up
  std::vector<SharedTensor> shared = {};
};

/// The memory of one part.
struct Room {
  std::int64_t bytes = 0;  ///< 0: no limit
  /// Stash depth of each part: how many micro-batches' stashes it holds, never more than the part before it.
  /// Empty: one.
  std::vector<std::int64_t> stash_depths = {};
};

/// Gives the first item of each of exactly `parts` parts, none of them empty; there must be as many items.
/// Among the cuts in which every part fits its room, the result has the least time in its slowest part, and
/// among equals the fewest crossing bytes. When no cut fits, the choice is among the cuts whose fullest part
/// has the fewest bytes. Time O(items x parts).
std::vector<std::size_t> cut(const std::vector<Item>& items, std::size_t parts, const Room& room = {});

/// What parts that begin with the items `firsts` come to.
struct CutCost {
  double seconds = 0;               ///< of the slowest part
  std::int64_t bytes = 0;           ///< of the fullest part
  std::int64_t crossing_bytes = 0;  ///< between the two parts that exchange the most
};
CutCost cost_of(const std::vector<Item>& items, const std::vector<std::size_t>& firsts,
                const Room& room = {});

}  // namespace podium::annotate
