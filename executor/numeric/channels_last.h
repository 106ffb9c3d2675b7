// Moves convolutions, and the ops between them, to channels-last memory.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::numeric {

/// The inputs and outputs of a graph that lie channels-last: the memory of a tensor [images, channels,
/// positions...] holds [images, positions..., channels], and these are its dimensions in the graph.
struct Layouts {
  std::vector<bool> inputs = {};
  std::vector<bool> outputs = {};
};

/// Float convolutions with constant weights become `podium.Convolution`, those of quantised numbers
/// `podium.ByteConvolution` (fuse_bytes.h), transposed ones without overlap `podium.Patches` and pools
/// `podium.Pool`, between Casts where they are of float16 or bfloat16; elementwise ops, quantizing, Concat,
/// Split, Slice, Pad, Resize and BatchNormalization between them run on the same layout.
/// `podium.ToChannelsLast` and `podium.ToChannelsFirst` (or `podium.View` where no byte moves) stand only at
/// the borders, except for the inputs and outputs that `layouts` marks as channels-last. True when the graph
/// changed.
bool channels_last(ir::Graph& graph, const Layouts& layouts = {});

}  // namespace podium::numeric
