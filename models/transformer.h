// What transformers share: their sizes, linear layers over tokens, heads and attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/recipe.h"

namespace podium::models {

struct Transformer {
  std::int64_t batch, sequence, hidden, heads, inner;
  std::int64_t kv_heads;  ///< of keys and values

  std::int64_t head() const { return hidden / heads; }
};

/// Of the parameters batch, hidden and heads. Throws podium::Error where heads do not divide the features.
Transformer transformer_sizes(const Recipe& recipe, std::int64_t sequence);

/// x behind a Dropout node, where the parameter dropout is above 0.
ir::ValueId dropped(Net& net, const std::string& name, ir::ValueId x);

/// x W + b, as an exporter writes a linear layer over tokens.
ir::ValueId dense(Net& net, const std::string& name, ir::ValueId x, std::int64_t in, std::int64_t out);

/// The dimensions {batch, tokens, tail...} as an input of Reshape: constants, or with shapes=dynamic the
/// exporter's Shape-Gather-Unsqueeze-Concat chain over what `like` has.
ir::ValueId shape_of(Net& net, const std::string& name, ir::ValueId like,
                     const std::vector<std::int64_t>& tail, const Transformer& sizes);

/// {batch, tokens, features} as heads of their own, {batch, tokens, count, head}, transposed by `order`.
ir::ValueId split_heads(Net& net, const std::string& name, ir::ValueId x, std::int64_t count,
                        const Transformer& sizes, ir::IntList order);

/// {batch, heads, tokens, head} back as {batch, tokens, features}.
ir::ValueId merge_heads(Net& net, const std::string& name, ir::ValueId x, const Transformer& sizes);

/// Attention of every token to every other; the mask is added to the scores.
ir::ValueId self_attention(Net& net, const std::string& name, ir::ValueId x, std::optional<ir::ValueId> mask,
                           const Transformer& sizes);

/// A gelu of four times as many features between two linear layers, and the second's Dropout.
ir::ValueId gelu_mlp(Net& net, const std::string& name, ir::ValueId x, const Transformer& sizes);

/// {batch, features} of the first token, which stands for the whole sequence.
ir::ValueId first_token(Net& net, ir::ValueId x);

/// True where position i may look at position j; the first row is position `past`.
ir::Tensor causal_mask(std::int64_t sequence, std::int64_t past);

}  // namespace podium::models
