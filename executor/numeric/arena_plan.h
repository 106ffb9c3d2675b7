// Offsets in one arena for values whose sizes and lifetimes are known.
#pragma once

#include <cstddef>
#include <vector>

namespace podium::numeric {

/// A value that lives from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaPlan {
  std::vector<std::size_t> offsets;  ///< per lifetime, 64-byte aligned
  std::size_t bytes = 0;             ///< of the whole arena
};

/// Plans the offsets so that values whose lifetimes meet never overlap. The largest value goes first, each to
/// the lowest free offset, which is within a small factor of the best plan (Pisarchyk and Lee, "Efficient
/// Memory Management for Deep Neural Net Inference", 2020: greedy by size).
/// Tens of thousands of values are planned in the order of time instead, which is as good where sizes are
/// alike.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace podium::numeric
