// Which code the inputs so far have reached.
#pragma once

#include <cstdint>

namespace podium::fuzz {

/// How many edges between straight pieces of code this process, and those it has forked, have taken since
/// share_edges. 0 in a build that does not count them.
std::uint64_t edges_taken();

/// Starts the count again, shared with the processes that are forked from now on.
void share_edges();

}  // namespace podium::fuzz
