// Common subexpressions are computed once.
#pragma once

namespace podium::ir {

class Graph;

/// Ops that compute the same from the same values become one, as do constants of up to a megabyte with the
/// same bytes; in bodies too. Random ops and ops with bodies stay as they are, and so do exchanges but sums of
/// the same parts, and the names of the graph's outputs.
bool merge_equal(Graph& graph);

}  // namespace podium::ir
