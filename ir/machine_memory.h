// How much memory this machine has.
#pragma once

#include <cstdint>

namespace podium::ir {

/// Bytes of the machine's memory, of which others have a part.
std::int64_t machine_memory();

}  // namespace podium::ir
