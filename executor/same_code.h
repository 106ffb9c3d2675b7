// Whether the graphs of blocks compute the same, wherever they do. Parts number their values in the order of
// their ops, so equal parts have equal numbers.
#pragma once

#include <cstddef>

#include "ir/graph.h"

namespace podium::executor {

/// Values and ops are the same in their order, but for names and for what says where an op runs.
bool same_code(const ir::Graph& a, const ir::Graph& b);
/// Equal for graphs of the same code.
std::size_t hash_of_code(const ir::Graph& graph);

}  // namespace podium::executor
