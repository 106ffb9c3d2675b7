// Bias, residual and activation after a convolution or product join it, an activation a normalisation.
#pragma once

#include <optional>
#include <string>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

/// `podium.Convolution` and `podium.MatMul` take in the Adds and the elementwise function after them that are
/// the only readers of their result: activation(X * W + B + Z); `podium.GroupNormalization` the function.
/// True when the graph changed.
bool fuse_post_ops(ir::Graph& graph);

/// The function that a fused op applies to its result, as its attributes say it.
struct Activation {
  std::string name;
  float alpha = 0;
  float beta = 0;
};

/// Of an elementwise op that fused ops can take in; the bounds of a Clip are known, and alpha and beta.
std::optional<Activation> activation_of(const Rewriter& rewriter, const ir::Op& op);
void set_activation(ir::Op& fused, const Activation& activation);

}  // namespace podium::numeric
