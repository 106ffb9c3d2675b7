// Puts convolutions, and what stands between them, on channels-last memory.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::numeric {

/// The inputs and outputs of a graph that lie channels-last: of a tensor [images, channels, positions...] the
/// memory holds [images, positions..., channels], and so say its dimensions.
struct Layouts {
  std::vector<bool> inputs = {};
  std::vector<bool> outputs = {};
};

/// A convolution that the pass puts on channels-last memory.
bool is_convolution(const ir::Graph& graph, const ir::Op& op);
/// An op that gives a channels-last tensor when its inputs, apart from constants, are such.
bool keeps_layout(const ir::Graph& graph, const ir::Op& op);

/// Float convolutions with constant weights become `podium.Convolution`, pools `podium.Pool`, elementwise ops
/// and Concat between them run on the same layout; `podium.ToChannelsLast` and `podium.ToChannelsFirst`
/// (or `podium.View` where no byte moves) stand only at the borders, where `layouts` does not say
/// that the graph is given or gives the channels-last form. True when the graph changed.
bool channels_last(ir::Graph& graph, const Layouts& layouts = {});

}  // namespace podium::numeric
