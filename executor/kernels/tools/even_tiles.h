// Tiles of nearly equal sizes, and loops whose number of rows the compiler knows.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace podium::kernels {

template <class Use, int... kBelow>
void with_constant(std::int64_t number, const Use& use, std::integer_sequence<int, kBelow...> /*kMost*/) {
  (void)((number == kBelow + 1 && (use(std::integral_constant<int, kBelow + 1>()), true)) || ...);
}
/// Calls `use` with std::integral_constant<int, number>, a number from 1 to kMost.
template <int kMost, class Use>
void with_constant(std::int64_t number, const Use& use) {
  with_constant(number, use, std::make_integer_sequence<int, kMost>());
}

/// Some things in as few tiles as hold `at_once` each, of sizes that differ by one at most.
struct EvenTiles {
  std::int64_t things = 1;
  std::int64_t at_once = 1;

  std::int64_t count() const { return (things + at_once - 1) / at_once; }
  std::int64_t first(std::int64_t tile) const { return things * tile / count(); }
  std::int64_t size(std::int64_t tile) const { return first(tile + 1) - first(tile); }
};

}  // namespace podium::kernels
