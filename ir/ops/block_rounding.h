// Of RoundToBlocks, which rounds numbers to 8 bits and a power of two for each block.
#pragma once

#include <cstdint>

namespace podium::ir {

/// Numbers along the axis that share a power of two; the last block may have fewer.
inline constexpr std::int64_t kRoundedBlock = 32;

}  // namespace podium::ir
