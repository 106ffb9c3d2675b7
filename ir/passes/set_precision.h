// The same model in another floating point precision.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Every float and float16 tensor of the graph, inputs and bodies included, gets the element type
/// `precision`, one of the two. A Cast stands before and after an op that must have the other; it gets the
/// op's annotations. Types are to be inferred anew.
void set_precision(Graph& graph, DataType precision);

/// A tensor of float or float16 in that precision; any other as it is. What is finite stays finite.
Tensor in_precision(const Tensor& tensor, DataType precision);

}  // namespace podium::ir
