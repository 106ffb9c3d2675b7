// RoundToBlocks: numbers as blocks of 8 bits hold them.
#pragma once

#include <cstdint>

namespace podium::kernels {

/// Rounds a tensor of outer x count x inner numbers along its middle axis: of each block of 32 (the last may
/// be shorter) the largest magnitude m sets a power of two, 2^(floor(log2 m) - 8), at least 2^-127, by which
/// the numbers are divided, rounded to float8e4m3fn (half to even, 448 at most) and multiplied again. A block
/// with an infinity or a NaN stays as it is.
void round_to_blocks(const float* x, float* y, std::int64_t outer, std::int64_t count, std::int64_t inner);

}  // namespace podium::kernels
