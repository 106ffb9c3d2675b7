// Convolutions by Winograd's algorithm whose weights are transformed in every run.
#pragma once

#include <cstddef>
#include <span>

namespace podium::kernels {

/// Scratch memory above which the algorithm is not worth its speed.
inline constexpr std::size_t kMostWinogradScratch = std::size_t{256} << 20;

/// The transforms make NaN of what lies beside an infinity, and may overflow where the sum does not: a result
/// that is not all finite is to be computed once more, by its sum.
bool are_finite(std::span<const float> numbers);

}  // namespace podium::kernels
