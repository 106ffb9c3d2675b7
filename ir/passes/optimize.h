// Everything that is done to a graph before it is placed and lowered, in order.
#pragma once

namespace podium::ir {

class Graph;
struct InferOptions;

/// Infers, folds and simplifies until nothing changes. The graph's inputs and outputs keep order, names and
/// meaning. True when an op went. Error as infer gives it.
bool optimize(Graph& graph, const InferOptions& options);

}  // namespace podium::ir
