// The maxima of a pool's windows and where they are: for MaxPool's Indices and for its gradient.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "executor/kernels/pool_stage.h"
#include "ir/error.h"

namespace podium::kernels {

/// The number below all others.
template <class T>
constexpr T least_of() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

/// The larger one; a NaN is larger than any number.
template <class T>
T larger_of(T a, T b) {
  const bool is_nan = b != b;
  return (b > a) | is_nan ? b : a;  // not ||, which would be a branch
}

/// The position of an element of a plane, in row-major order; kNowhere: no element.
using Place = std::uint32_t;
inline constexpr Place kNowhere = std::numeric_limits<Place>::max();

template <class T>
struct Maxima {
  std::vector<T> values;
  std::vector<Place> places;

  explicit Maxima(std::int64_t count) : values(count), places(count) {}
};

/// Joins elements `kStride` (0: `stride`) apart into `values` and `places`, which are other memory. Of equal
/// numbers, and of several NaN, the first one counts.
template <int kStride, class T>
void join_maxima(T* __restrict values, Place* __restrict places, const T* __restrict from,
                 const Place* __restrict from_places, std::int64_t count, std::int64_t stride) {
  const std::int64_t step = kStride == 0 ? stride : kStride;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = from[i * step];
    const Place place = from_places[i * step];
    const bool is_nan = value != value;
    const bool was_nan = values[i] != values[i];
    const bool is_equal = value == values[i] || (is_nan && was_nan);
    const bool takes = value > values[i] || (is_nan && !was_nan) || (is_equal && place < places[i]);
    values[i] = takes ? value : values[i];
    places[i] = takes ? place : places[i];
  }
}

template <class T>
void run_stage(const PoolStage& stage, const T* in, const Place* in_places, Maxima<T>& out) {
  std::fill_n(out.values.begin(), stage.output_size(), least_of<T>());
  std::fill_n(out.places.begin(), stage.output_size(), kNowhere);
  for (std::int64_t outer = 0; outer < stage.outer; ++outer) {
    for (const ir::Tap& tap : stage.taps) {
      // Along the innermost axis all outputs at once, else row by row.
      const bool is_innermost = stage.inner == 1;
      const std::int64_t steps = is_innermost ? (tap.begin < tap.end ? 1 : 0) : tap.end - tap.begin;
      const std::int64_t count = is_innermost ? tap.end - tap.begin : stage.inner;
      for (std::int64_t o = tap.begin; o < tap.begin + steps; ++o) {
        const std::int64_t from = (outer * stage.input + o * stage.stride + tap.shift) * stage.inner;
        const std::int64_t to = (outer * stage.output + o) * stage.inner;
        T* values = out.values.data() + to;
        Place* places = out.places.data() + to;
        if (!is_innermost || stage.stride == 1) {
          join_maxima<1>(values, places, in + from, in_places + from, count, 1);
        } else if (stage.stride == 2) {
          join_maxima<2>(values, places, in + from, in_places + from, count, 2);
        } else {
          join_maxima<0>(values, places, in + from, in_places + from, count, stage.stride);
        }
      }
    }
  }
}

/// Error for a plane whose elements have too many places.
inline void check_places(std::int64_t plane_size) {
  if (plane_size >= kNowhere) throw Error("a channel of {} elements is too large for Indices", plane_size);
}

/// Memory for the passes over one plane after another; each thread has its own.
template <class T>
class MaximumFinder {
 public:
  MaximumFinder(const std::vector<PoolStage>& stages, std::int64_t plane_size)
      : stages_(stages), places_(plane_size) {
    std::iota(places_.begin(), places_.end(), Place{0});
    for (const PoolStage& stage : stages_) results_.emplace_back(stage.output_size());
  }

  /// Valid until the next call.
  const Maxima<T>& find(const T* plane) {
    for (std::size_t s = 0; s < results_.size(); ++s) {
      const bool is_first = s == 0;
      run_stage(stages_[s], is_first ? plane : results_[s - 1].values.data(),
                is_first ? places_.data() : results_[s - 1].places.data(), results_[s]);
    }
    return results_.back();
  }

 private:
  const std::vector<PoolStage>& stages_;
  std::vector<Place> places_;
  std::vector<Maxima<T>> results_;
};

}  // namespace podium::kernels
