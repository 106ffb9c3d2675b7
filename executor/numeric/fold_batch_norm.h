// BatchNormalization in inference goes into the constant weights of the convolution before it.
#pragma once

#include <optional>
#include <vector>

#include "executor/numeric/rewriter.h"
#include "ir/graph.h"

namespace podium::numeric {

/// y = x * scale + shift, with numbers for each channel.
struct Affine {
  std::vector<double> scale = {};
  std::vector<double> shift = {};
};

/// What a BatchNormalization in inference does, of floats of any width, where its numbers are known; nullopt
/// for any other op.
std::optional<Affine> known_affine(const Rewriter& rewriter, const ir::Op& op);

/// `BatchNormalization(Conv(x, W, B))` becomes `Conv(x, W', B')`. True when the graph changed.
bool fold_batch_norm(ir::Graph& graph);

}  // namespace podium::numeric
