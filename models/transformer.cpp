#include "models/transformer.h"

#include <cmath>

#include "ir/error.h"

namespace podium::models {

using ir::Tensor;
using ir::ValueId;

Transformer transformer_sizes(const Recipe& recipe, std::int64_t sequence) {
  const std::int64_t hidden = recipe.number("hidden");
  const std::int64_t heads = recipe.number("heads");
  if (hidden % heads != 0)
    throw Error("parameter heads: {} found, a divisor of hidden {} needed", heads, hidden);
  return {recipe.number("batch"), sequence, hidden, heads, hidden * 4, heads};
}

// A node of a model that is exported while it trains; none where nothing is dropped.
ValueId dropped(Net& net, const std::string& name, ValueId x) {
  const double ratio = net.recipe().share("dropout");
  if (ratio == 0) return x;
  return net.op(
      name, "Dropout",
      {x, net.constant(Tensor::scalar(static_cast<float>(ratio))), net.constant(Tensor::scalar(true))});
}

ValueId dense(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out) {
  const ValueId weight = net.weight(name + ".weight", {in, out}, static_cast<double>(in));
  const ValueId bias = net.weight(name + ".bias", {out}, static_cast<double>(in), 1.0);
  return net.op(name + "/Add", "Add", {net.op(name + "/MatMul", "MatMul", {x, weight}), bias});
}

ValueId shape_of(Net& net, const std::string& name, ValueId like, const std::vector<std::int64_t>& tail,
                 const Transformer& sizes) {
  if (!net.recipe().is_dynamic()) {
    std::vector<std::int64_t> dims{sizes.batch, sizes.sequence};
    dims.insert(dims.end(), tail.begin(), tail.end());
    return net.ints(dims);
  }
  std::vector<ValueId> parts;
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const ValueId shape = net.op(fmt::format("{}/Shape_{}", name, axis), "Shape", {like});
    const ValueId one = net.op(fmt::format("{}/Gather_{}", name, axis), "Gather",
                               {shape, net.constant(Tensor::scalar(axis))}, {{"axis", std::int64_t{0}}});
    parts.push_back(net.op(fmt::format("{}/Unsqueeze_{}", name, axis), "Unsqueeze", {one, net.ints({0})}));
  }
  for (std::int64_t dim : tail) parts.push_back(net.ints({dim}));
  return net.op(name + "/Concat", "Concat", parts, {{"axis", std::int64_t{0}}});
}

ValueId split_heads(Net& net, const std::string& name, ValueId x, std::int64_t count,
                    const Transformer& sizes, ir::IntList order) {
  const ValueId shape = shape_of(net, name, x, {count, sizes.head()}, sizes);
  const ValueId heads = net.op(name + "/Reshape", "Reshape", {x, shape});
  return net.op(name + "/Transpose", "Transpose", {heads}, {{"perm", std::move(order)}});
}

ValueId merge_heads(Net& net, const std::string& name, ValueId x, const Transformer& sizes) {
  const ValueId tokens = net.op(name + "/Transpose", "Transpose", {x}, {{"perm", ir::IntList{0, 2, 1, 3}}});
  return net.op(name + "/Reshape", "Reshape", {tokens, shape_of(net, name, tokens, {sizes.hidden}, sizes)});
}

ValueId self_attention(Net& net, const std::string& name, ValueId x, std::optional<ValueId> mask,
                       const Transformer& sizes) {
  const auto projected = [&](const std::string& part, ir::IntList order) {
    const std::string path = name + "/" + part;
    return split_heads(net, path + "/heads", dense(net, path, x, sizes.hidden, sizes.hidden), sizes.heads,
                       sizes, std::move(order));
  };
  const ValueId query = projected("query", {0, 2, 1, 3});
  const ValueId key = projected("key", {0, 2, 3, 1});
  const ValueId value = projected("value", {0, 2, 1, 3});
  ValueId scores = net.op(name + "/MatMul", "MatMul", {query, key});
  scores = net.op(name + "/Div", "Div", {scores, net.scalar(std::sqrt(static_cast<float>(sizes.head())))});
  if (mask.has_value()) scores = net.op(name + "/Add", "Add", {scores, *mask});
  ValueId weights = net.op(name + "/Softmax", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  weights = dropped(net, name + "/Dropout", weights);
  const ValueId context = net.op(name + "/MatMul_1", "MatMul", {weights, value});
  return merge_heads(net, name + "/merge", context, sizes);
}

ValueId gelu_mlp(Net& net, const std::string& name, ValueId x, const Transformer& sizes) {
  ValueId inner = dense(net, name + "/intermediate", x, sizes.hidden, sizes.inner);
  inner = net.gelu(name + "/gelu", inner);
  inner = dense(net, name + "/output", inner, sizes.inner, sizes.hidden);
  return dropped(net, name + "/output/Dropout", inner);
}

ValueId first_token(Net& net, ValueId x) {
  return net.op("pooler/Gather", "Gather", {x, net.constant(Tensor::scalar<std::int64_t>(0))},
                {{"axis", std::int64_t{1}}});
}

Tensor causal_mask(std::int64_t sequence, std::int64_t past) {
  Tensor mask(ir::DataType::Bool, {1, 1, sequence, past + sequence});
  bool* out = mask.data<bool>();
  for (std::int64_t i = 0; i < sequence; ++i) {
    for (std::int64_t j = 0; j < past + sequence; ++j) *out++ = j <= past + i;
  }
  return mask;
}

}  // namespace podium::models
