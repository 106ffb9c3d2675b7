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

/// Bytes of memory for values between ops.
struct ArenaBytes {
  std::size_t planned = 0;  ///< what is taken
  std::size_t live = 0;     ///< the most that lives at one step: no plan takes less
};

struct ArenaPlan {
  std::vector<std::size_t> offsets;  ///< per lifetime, 64-byte aligned
  ArenaBytes bytes = {};
};

/// Plans the offsets so that values whose lifetimes meet never overlap. The best of several plans: in the
/// order of time each value to the smallest free piece that holds it; the largest first, each to the lowest
/// free offset (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020: greedy
/// by size); those first that are most bytes for most steps. Tens of thousands of values are planned in the
/// order of time alone.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace podium::numeric
