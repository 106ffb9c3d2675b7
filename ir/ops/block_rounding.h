// Of RoundToBlocks, which rounds numbers to 8 bits and a power of two for each block.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace podium::ir {

/// Numbers along the axis that share a power of two; the last block may have fewer.
inline constexpr std::int64_t kRoundedBlock = 32;

inline bool rounds_to_blocks(const Op& op) { return op.is("RoundToBlocks", "podium"); }

}  // namespace podium::ir
