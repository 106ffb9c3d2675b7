// Which ops compute on channels-last memory, and which leave the layout of what they are given.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// A convolution, or a transposed one, that is put on channels-last memory.
bool is_convolution(const ir::Graph& graph, const ir::Op& op);
/// One of float16 or bfloat16, which computes in float and rounds once.
bool is_narrow_convolution(const ir::Graph& graph, const ir::Op& op);
/// Whether the op gives a channels-last tensor when its inputs, apart from constants, are channels-last.
bool keeps_layout(const ir::Graph& graph, const ir::Op& op);
/// A Split, Slice, Pad or Resize, where constants tell what it does.
bool moves_by_constants(const ir::Graph& graph, const ir::Op& op);
/// A normalisation of an image's channels, one by one or in groups, of so many that they fill vectors.
bool is_norm_of_channels(const ir::Graph& graph, const ir::Op& op);
/// Between floats and bytes that stand for them, with one scale for all.
bool changes_each_number(const ir::Graph& graph, const ir::Op& op);
/// A pool whose windows oneDNN has, too.
bool is_pool(const ir::Op& op);
/// Float16 or bfloat16.
bool is_narrow_float(ir::DataType type);
/// Every tensor that is there is static and of floats of some width, and one at least is narrower than float.
bool is_of_narrow_floats(const ir::Graph& graph, const ir::Op& op);

}  // namespace podium::numeric
