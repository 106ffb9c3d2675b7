// Inputs whose integers name something: the rows of a table, classes, positions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace podium {

/// By the name of an input: its numbers may be 0 to below so many.
using IdCounts = std::map<std::string, std::int64_t>;

/// The inputs of a graph with types that only ops read which look things up (Gather and its like, OneHot,
/// the losses of classes), move them there or compare them. The count is that of the smallest of what they
/// look up. An input that something else reads is not told of, since a sum of two ids need not be one.
IdCounts count_ids(const ir::Graph& graph);

}  // namespace podium
