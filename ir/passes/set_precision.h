// The same model in another floating point precision.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Gives every float and float16 tensor of the graph, inputs and bodies included, the element type
/// `precision`, which is one of the two. A Cast stands before and after an op that needs the other type, with
/// the op's annotations. Types are to be inferred anew.
void set_precision(Graph& graph, DataType precision);

/// A float or float16 tensor in that precision; any other tensor unchanged. A finite number stays finite.
Tensor in_precision(const Tensor& tensor, DataType precision);

}  // namespace podium::ir
