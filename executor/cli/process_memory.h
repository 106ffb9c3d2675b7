// What the program itself takes of the machine's memory.
#pragma once

#include <cstdint>

namespace podium::cli {

/// The most bytes of the machine's memory that the program has held so far; 0 where the system does not say.
std::int64_t most_resident_bytes();

}  // namespace podium::cli
