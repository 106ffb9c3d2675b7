// What annotations and options ask of single ops, as ops of the graph: so every strategy, derivative and
// clock sees it.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// A MatMul that is annotated with `__serialize_matmul_mode` and a factor above 1 becomes that many products,
/// one after the other: of rows of the left operand (input_channels), of columns of the right one
/// (output_channels), which are put together, or of parts of the inner dimension (reducing_dim), which are
/// added up, in floats where `__serialize_matmul_precision` is 1. A MatMul with an `__output_type` gives a
/// result of that type. The ops have the node's name and its other annotations. Run before derivatives are
/// appended, with types inferred, and infer them again where it says that it changed something. Error names
/// the node whose dimension the factor does not divide.
bool follow_product_annotations(Graph& graph);

/// Every GroupNormalization takes every G-th channel for a group of its G groups, not channels that lie side
/// by side: its channels are brought into another order before it and back behind it. Says whether it changed
/// something.
bool stride_channel_groups(Graph& graph);

}  // namespace podium::ir
