// What a block needs inside while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace podium::lower {

/// An output of a block that goes where an input is: both are one buffer.
struct Overwrite {
  int output = 0;  ///< place in the graph's outputs
  int input = 0;   ///< place in the graph's inputs
  friend auto operator<=>(const Overwrite&, const Overwrite&) = default;
};

/// The largest sum of values that are alive at once inside `graph`, inputs and outputs not counted. Ops run
/// in their order and each value lives from its op to its last reader. A view shares what it shows. An op
/// that may work in place takes the memory of an input of the same size that nobody reads after it,
/// as the engine does; values that become an output so are where the output goes, as long as what the output
/// overwrites is not read any more.
std::int64_t temporary_bytes(const ir::Graph& graph, std::span<const Overwrite> overwrites = {});

}  // namespace podium::lower
