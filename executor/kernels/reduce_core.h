// Loops that reduce runs of elements, vectorised. Short stretches are put together in lanes of the element's
// type, stretches in a wider type, always in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "executor/kernels/reduce_plan.h"
#include "executor/kernels/tools/fast_math.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

/// The operation of a reduction on elements of type T: `read` turns an element into a summand, `put` joins
/// two. Integers add and multiply modulo 2^64, which is right in every narrower type.
struct Plain {
  template <class T>
  static T of(T x) {
    return x;
  }
};
struct Magnitude {
  template <class T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      using Wrapping = std::make_unsigned_t<T>;
      return x < T{0} ? static_cast<T>(Wrapping{0} - static_cast<Wrapping>(x)) : x;
    } else {
      return x < T{0} ? T{0} - x : x;
    }
  }
};
struct Squared {
  template <class T>
  static T of(T x) {
    return x * x;
  }
};

template <class T, class Map>
struct Adding {
  using Read = T;
  using Part = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  static constexpr Part kFirst{0};
  static Part read(T x, T /*shift*/) {
    if constexpr (std::is_same_v<Map, Squared>) {
      return Map::of(static_cast<Part>(x));
    } else {
      return static_cast<Part>(Map::of(x));
    }
  }
  template <class A>
  static A put(A a, A b) {
    return a + b;
  }
};

/// exp(x - shift).
template <class T>
struct AddingPowers : Adding<T, Plain> {
  static T read(T x, T shift) { return fast_exp(x - shift); }
};

template <class T>
struct Multiplying {
  using Read = T;
  using Part = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  using Total = Part;
  static constexpr Part kFirst{1};
  static Part read(T x, T /*shift*/) { return static_cast<Part>(x); }
  static Part put(Part a, Part b) { return a * b; }
};

template <class T, bool kLargest>
struct Choosing {
  using Read = T;
  using Part = T;
  using Total = T;
  using Limits = std::numeric_limits<T>;
  static constexpr T kLow = std::is_integral_v<T> ? Limits::lowest() : -Limits::infinity();
  static constexpr T kHigh = std::is_integral_v<T> ? Limits::max() : Limits::infinity();
  static constexpr T kFirst = kLargest ? kLow : kHigh;
  static T read(T x, T /*shift*/) { return x; }
  /// A NaN wins over all numbers.
  static T put(T a, T b) {
    const bool wins = kLargest ? b > a : b < a;
    const bool is_nan = b != b;
    return wins | is_nan ? b : a;  // not ||, which would be a branch
  }
};

/// Of a multiple of kLanes elements.
template <class Op, std::int64_t kLanes>
typename Op::Part reduce_in_lanes(const typename Op::Read* x, std::int64_t count, typename Op::Read shift) {
  using Part = typename Op::Part;
  const Part first = Op::kFirst;
  Part lanes[kLanes];
  std::fill_n(lanes, kLanes, first);
  for (std::int64_t i = 0; i < count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = Op::put(lanes[lane], Op::read(x[i + lane], shift));
    }
  }
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] = Op::put(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

/// Many lanes hide what an operation waits for, a vector of them serves short rows and what is left of long
/// ones.
template <class Op>
typename Op::Part reduce_stretch(const typename Op::Read* x, std::int64_t count, typename Op::Read shift) {
  constexpr std::int64_t kMany = 64;
  constexpr std::int64_t kFew = 8;
  typename Op::Part result = Op::kFirst;
  const std::int64_t in_many = count / kMany * kMany;
  const std::int64_t in_few = (count - in_many) / kFew * kFew;
  if (in_many > 0) result = reduce_in_lanes<Op, kMany>(x, in_many, shift);
  if (in_few > 0) result = Op::put(result, reduce_in_lanes<Op, kFew>(x + in_many, in_few, shift));
  for (std::int64_t i = in_many + in_few; i < count; ++i) result = Op::put(result, Op::read(x[i], shift));
  return result;
}

template <class Op>
typename Op::Total reduce_chunk(const typename Op::Read* x, std::int64_t count, typename Op::Read shift) {
  using Total = typename Op::Total;
  constexpr std::int64_t kStretch = 4096;
  Total total = Op::kFirst;
  for (std::int64_t first = 0; first < count; first += kStretch) {
    const std::int64_t length = std::min(kStretch, count - first);
    total = Op::put(total, static_cast<Total>(reduce_stretch<Op>(x + first, length, shift)));
  }
  return total;
}

/// Reduces a whole run. Chunks of a long run are reduced side by side, unless the caller is already one of
/// several threads.
template <class Op>
typename Op::Total reduce_run(const typename Op::Read* x, std::int64_t count, typename Op::Read shift = {}) {
  constexpr std::int64_t kChunk = 65536;
  if (count <= kChunk) return reduce_chunk<Op>(x, count, shift);
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<typename Op::Total> totals(chunks);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t first = i * kChunk;
    totals[i] = reduce_chunk<Op>(x + first, std::min(kChunk, count - first), shift);
  }
  typename Op::Total total = Op::kFirst;
  for (const auto& part : totals) total = Op::put(total, part);
  return total;
}

/// Adds four rows in one pass over the parts; each part takes the four rows one after the other.
template <class Op>
void add_four_rows(const typename Op::Read* x, const std::int64_t* rows, std::int64_t width,
                   const typename Op::Read* shifts, typename Op::Part* parts) {
  const typename Op::Read* a = x + rows[0];
  const typename Op::Read* b = x + rows[1];
  const typename Op::Read* c = x + rows[2];
  const typename Op::Read* d = x + rows[3];
  for (std::int64_t j = 0; j < width; ++j) {
    typename Op::Part part = Op::put(parts[j], Op::read(a[j], shifts[j]));
    part = Op::put(part, Op::read(b[j], shifts[j]));
    part = Op::put(part, Op::read(c[j], shifts[j]));
    parts[j] = Op::put(part, Op::read(d[j], shifts[j]));
  }
}

/// Elements [column, column + width) of the row of outputs that starts at x, width at most kReduceTile.
inline constexpr std::int64_t kReduceTile = 1024;
template <class Op>
void reduce_rows(const typename Op::Read* x, const std::vector<std::int64_t>& rows, std::int64_t width,
                 const typename Op::Read* shifts, typename Op::Total* totals) {
  constexpr std::size_t kRows = 64;
  const typename Op::Total none = Op::kFirst;
  std::fill_n(totals, width, none);
  for (std::size_t first = 0; first < rows.size(); first += kRows) {
    typename Op::Part parts[kReduceTile];
    const typename Op::Part nothing = Op::kFirst;
    std::fill_n(parts, width, nothing);
    const std::size_t last = std::min(first + kRows, rows.size());
    std::size_t r = first;
    for (; r + 4 <= last; r += 4) add_four_rows<Op>(x, rows.data() + r, width, shifts, parts);
    for (; r < last; ++r) {
      const typename Op::Read* row = x + rows[r];
      for (std::int64_t j = 0; j < width; ++j) parts[j] = Op::put(parts[j], Op::read(row[j], shifts[j]));
    }
    for (std::int64_t j = 0; j < width; ++j) {
      totals[j] = Op::put(totals[j], static_cast<typename Op::Total>(parts[j]));
    }
  }
}

/// Reduces a whole tensor. `finish(total, shift)` gives an output; `y` holds the shifts beforehand when
/// `shifted`.
template <class Op, class Finish>
void reduce_all(const ReducePlan& plan, const typename Op::Read* x, typename Op::Read* y, bool shifted,
                const Finish& finish) {
  using Read = typename Op::Read;
  constexpr std::int64_t kCost = 2;  // of an element
  const auto kept = std::ssize(plan.kept);
  const std::int64_t reduced = std::ssize(plan.reduced);
  if (plan.run_is_reduced) {
    return parallel_ranges(kept, kCost * plan.run * reduced, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Read* from = x + plan.kept[i];
        const Read shift = shifted ? y[i] : Read{0};
        typename Op::Total total = Op::kFirst;
        for (std::int64_t start : plan.reduced)
          total = Op::put(total, reduce_run<Op>(from + start, plan.run, shift));
        y[i] = finish(total, shift);
      }
    });
  }
  const std::int64_t tiles = (plan.run + kReduceTile - 1) / kReduceTile;
  const std::int64_t cost = kCost * std::min(kReduceTile, plan.run) * reduced;
  static constexpr Read kNoShifts[kReduceTile] = {};
  parallel_ranges(kept * tiles, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i % tiles * kReduceTile;
      const std::int64_t width = std::min(kReduceTile, plan.run - column);
      Read* to = y + i / tiles * plan.run + column;
      const Read* shifts = shifted ? to : kNoShifts;
      typename Op::Total totals[kReduceTile];
      reduce_rows<Op>(x + plan.kept[i / tiles] + column, plan.reduced, width, shifts, totals);
      for (std::int64_t j = 0; j < width; ++j) to[j] = finish(totals[j], shifts[j]);
    }
  });
}

}  // namespace podium::kernels
