// Quantizing floats to bytes in one pass.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace podium::kernels {

/// The scale of a part of a row, and its zero point.
struct Scale {
  const float* factor;
  const float* zero;
};

/// The numbers of QuantizeLinear: divided by the scale, rounded half to even, the zero point added, in range;
/// NaN becomes the lowest number. kStep is 0 for one scale, 1 for as many as there are numbers.
template <std::int64_t kStep, class Byte>
inline void quantize_floats(const float* x, Scale scale, std::int64_t count, Byte* y) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<Byte>::lowest());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<Byte>::max());
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float shifted = std::nearbyint(x[i] / scale.factor[i * kStep]) + scale.zero[i * kStep];
    const float above = shifted > kLow ? shifted : kLow;
    y[i] = static_cast<Byte>(static_cast<std::int32_t>(above < kHigh ? above : kHigh));
  }
}

}  // namespace podium::kernels
