// Decoders of the kind of LLaMA (Touvron et al. 2023): RMSNorm, rotary positions (Su et al. 2021), grouped
// queries (Ainslie et al. 2023) and gated MLPs (Shazeer 2020), and the same with experts in place of the
// MLPs. form=ops has ONNX's ops RMSNormalization, RotaryEmbedding and Attention; form=primitive what
// exporters wrote before they were there. Experts are batched products with a weight [experts, in, out]:
//   dense   each token through all experts, a sum weighted by the gate's Softmax;
//   einsum  Lepikhin et al. 2020 (GShard): masks [group, token, expert, place] of the `top` experts of each
//   token
//           dispatch and combine by Einsum; a group is a sequence, tokens beyond `capacity` places are
//           dropped;
//   routed  TopK experts of each token, whose gates are scattered; each expert gathers the `capacity` tokens
//   with
//           the largest gates, and its results are scattered back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/error.h"
#include "models/families.h"
#include "models/recipe.h"
#include "models/transformer.h"

namespace podium::models {
namespace {

using ir::DataType;
using ir::Tensor;
using ir::ValueId;

struct DecoderSizes {
  std::int64_t batch, sequence, hidden, heads, kv_heads, inner;

  std::int64_t head() const { return hidden / heads; }
  std::int64_t tokens() const { return batch * sequence; }
};

DecoderSizes decoder_sizes(const Recipe& recipe) {
  const std::int64_t heads = recipe.number("heads");
  const std::int64_t kv_heads = recipe.count("kv_heads");
  const DecoderSizes sizes{.batch = recipe.number("batch"),
                           .sequence = recipe.number("sequence"),
                           .hidden = recipe.number("hidden"),
                           .heads = heads,
                           .kv_heads = kv_heads == 0 ? heads : kv_heads,
                           .inner = recipe.number("inner")};
  if (sizes.hidden % (2 * heads) != 0)
    throw Error("parameter heads: {} found, a divisor of half of hidden {} needed", heads, sizes.hidden);
  if (heads % sizes.kv_heads != 0)
    throw Error("parameter kv_heads: {} found, a divisor of heads {} needed", sizes.kv_heads, heads);
  return sizes;
}

// x W without a bias.
ValueId project(Net& net, const std::string& name, ValueId x, std::int64_t in, std::int64_t out) {
  const ValueId weight = net.weight(name + ".weight", {in, out}, static_cast<double>(in));
  return net.op(name + "/MatMul", "MatMul", {x, weight});
}

ValueId rms_norm(Net& net, const std::string& name, ValueId x, std::int64_t size) {
  const ValueId scale = net.filled(name + ".weight", {size}, 1);
  if (!net.is_primitive())
    return net.op(name, "RMSNormalization", {x, scale}, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5F}});
  const ValueId squared = net.op(name + "/Pow", "Pow", {x, net.scalar(2)});
  const ValueId mean = net.op(name + "/ReduceMean", "ReduceMean", {squared, net.ints({-1})});
  const ValueId root =
      net.op(name + "/Sqrt", "Sqrt", {net.op(name + "/Add", "Add", {mean, net.scalar(1e-5F)})});
  return net.op(name + "/Mul", "Mul", {net.op(name + "/Div", "Div", {x, root}), scale});
}

/// Cosines and sines of the positions' angles, [sequence, columns]; with as many columns as a head has, each
/// angle is there twice.
struct Rotary {
  ValueId cos, sin;
};

// From whole numbers, since what is given as numbers with a point is a weight that is trained.
ValueId counted_up(Net& net, const std::string& name, const ir::Dims& dims) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < ir::element_count(dims); ++i) numbers.push_back(i);
  return net.op(name, "Cast", {net.constant(Tensor::of<std::int64_t>(dims, numbers))},
                {{"to", static_cast<std::int64_t>(DataType::Float)}});
}

// The angle of position i and pair j of P is i / 10000^(j / P).
Rotary rotary_tables(Net& net, const DecoderSizes& sizes) {
  const std::int64_t pairs = sizes.head() / 2;
  const ValueId slope = net.constant(Tensor::scalar(-std::log(10'000.0F) / static_cast<float>(pairs)));
  const ValueId exponents = net.op("rotary/Mul", "Mul", {counted_up(net, "rotary/pairs", {1, pairs}), slope});
  const ValueId positions = counted_up(net, "rotary/positions", {sizes.sequence, 1});
  ValueId angles = net.op("rotary/Mul_1", "Mul", {positions, net.op("rotary/Exp", "Exp", {exponents})});
  if (net.is_primitive())
    angles = net.op("rotary/Concat", "Concat", {angles, angles}, {{"axis", std::int64_t{-1}}});
  const auto table = [&](const char* function) {
    const ValueId wide = net.op(fmt::format("rotary/{}", function), function, {angles});
    if (!net.recipe().is("type", "float16")) return wide;
    return net.op(fmt::format("rotary/{}/Cast", function), "Cast", {wide},
                  {{"to", static_cast<std::int64_t>(DataType::Float16)}});
  };
  return {table("Cos"), table("Sin")};
}

// x cos + turned(x) sin, where a half of each head is turned into the other.
ValueId rotate(Net& net, const std::string& name, ValueId x, const Rotary& rotary,
               const DecoderSizes& sizes) {
  const std::int64_t half = sizes.head() / 2;
  const auto part = [&](const char* which, std::int64_t begin, std::int64_t end) {
    return net.op(name + which, "Slice", {x, net.ints({begin}), net.ints({end}), net.ints({3})});
  };
  const ValueId first = part("/Slice", 0, half);
  const ValueId second = net.op(name + "/Neg", "Neg", {part("/Slice_1", half, 2 * half)});
  const ValueId turned = net.op(name + "/Concat", "Concat", {second, first}, {{"axis", std::int64_t{-1}}});
  return net.op(
      name + "/Add", "Add",
      {net.op(name + "/Mul", "Mul", {x, rotary.cos}), net.op(name + "/Mul_1", "Mul", {turned, rotary.sin})});
}

// [batch, tokens, heads * size] as [batch, heads, tokens, size].
ValueId in_heads(Net& net, const std::string& name, ValueId x, std::int64_t heads,
                 const DecoderSizes& sizes) {
  const ValueId shape = net.ints({sizes.batch, sizes.sequence, heads, sizes.head()});
  return net.op(name + "/Transpose", "Transpose", {net.op(name + "/Reshape", "Reshape", {x, shape})},
                {{"perm", ir::IntList{0, 2, 1, 3}}});
}

// Each head of keys or values for all of its queries.
ValueId repeat_heads(Net& net, const std::string& name, ValueId x, const DecoderSizes& sizes) {
  const std::int64_t queries = sizes.heads / sizes.kv_heads;
  if (queries == 1) return x;
  const ValueId apart = net.op(name + "/Unsqueeze", "Unsqueeze", {x, net.ints({2})});
  const ValueId many =
      net.op(name + "/Expand", "Expand",
             {apart, net.ints({sizes.batch, sizes.kv_heads, queries, sizes.sequence, sizes.head()})});
  return net.op(name + "/Reshape_1", "Reshape",
                {many, net.ints({sizes.batch, sizes.heads, sizes.sequence, sizes.head()})});
}

ValueId attend_in_primitives(Net& net, const std::string& name, ValueId q, ValueId k, ValueId v,
                             const Rotary& rotary, const DecoderSizes& sizes) {
  q = rotate(net, name + "/q_rotary", in_heads(net, name + "/q", q, sizes.heads, sizes), rotary, sizes);
  k = rotate(net, name + "/k_rotary", in_heads(net, name + "/k", k, sizes.kv_heads, sizes), rotary, sizes);
  k = repeat_heads(net, name + "/k", k, sizes);
  v = repeat_heads(net, name + "/v", in_heads(net, name + "/v", v, sizes.kv_heads, sizes), sizes);
  const ValueId turned = net.op(name + "/Transpose", "Transpose", {k}, {{"perm", ir::IntList{0, 1, 3, 2}}});
  ValueId scores = net.op(name + "/MatMul", "MatMul", {q, turned});
  scores =
      net.op(name + "/Mul", "Mul", {scores, net.scalar(1 / std::sqrt(static_cast<float>(sizes.head())))});
  const bool half = net.recipe().is("type", "float16");
  const ValueId lowest = net.scalar(half ? -65504.0F : std::numeric_limits<float>::lowest());
  scores = net.op(name + "/Where", "Where", {net.constant(causal_mask(sizes.sequence, 0)), scores, lowest});
  const ValueId weights = net.op(name + "/Softmax", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId context = net.op(name + "/MatMul_1", "MatMul", {weights, v});
  const ValueId tokens =
      net.op(name + "/Transpose_1", "Transpose", {context}, {{"perm", ir::IntList{0, 2, 1, 3}}});
  return net.op(name + "/Reshape", "Reshape",
                {tokens, net.ints({sizes.batch, sizes.sequence, sizes.hidden})});
}

ValueId attend_in_ops(Net& net, const std::string& name, ValueId q, ValueId k, ValueId v,
                      const Rotary& rotary, const DecoderSizes& sizes) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < sizes.tokens(); ++i) positions.push_back(i % sizes.sequence);
  const ValueId places = net.constant(Tensor::of<std::int64_t>({sizes.batch, sizes.sequence}, positions));
  const auto rotated = [&](const char* which, ValueId x, std::int64_t heads) {
    return net.op(name + which, "RotaryEmbedding", {x, rotary.cos, rotary.sin, places},
                  {{"num_heads", heads}});
  };
  q = rotated("/q_rotary", q, sizes.heads);
  k = rotated("/k_rotary", k, sizes.kv_heads);
  return net.op(
      name + "/Attention", "Attention", {q, k, v},
      {{"is_causal", std::int64_t{1}}, {"q_num_heads", sizes.heads}, {"kv_num_heads", sizes.kv_heads}});
}

ValueId decoder_attention(Net& net, const std::string& name, ValueId x, const Rotary& rotary,
                          const DecoderSizes& sizes) {
  const std::int64_t kv = sizes.kv_heads * sizes.head();
  const ValueId q = project(net, name + "/q_proj", x, sizes.hidden, sizes.hidden);
  const ValueId k = project(net, name + "/k_proj", x, sizes.hidden, kv);
  const ValueId v = project(net, name + "/v_proj", x, sizes.hidden, kv);
  const ValueId attended = net.is_primitive() ? attend_in_primitives(net, name, q, k, v, rotary, sizes)
                                              : attend_in_ops(net, name, q, k, v, rotary, sizes);
  return project(net, name + "/o_proj", attended, sizes.hidden, sizes.hidden);
}

// silu(gate) * up
ValueId gated(Net& net, const std::string& name, ValueId gate, ValueId up) {
  const ValueId open = net.op(name + "/Sigmoid", "Sigmoid", {gate});
  return net.op(name + "/Mul_1", "Mul", {net.op(name + "/Mul", "Mul", {gate, open}), up});
}

ValueId gated_mlp(Net& net, const std::string& name, ValueId x, const DecoderSizes& sizes) {
  const ValueId gate = project(net, name + "/gate_proj", x, sizes.hidden, sizes.inner);
  const ValueId up = project(net, name + "/up_proj", x, sizes.hidden, sizes.inner);
  return project(net, name + "/down_proj", gated(net, name + "/act", gate, up), sizes.inner, sizes.hidden);
}

// Of x, [experts or 1, rows, hidden], each expert's rows through its weights.
ValueId experts_of(Net& net, const std::string& name, ValueId x, std::int64_t experts,
                   const DecoderSizes& sizes) {
  const auto batched = [&](const std::string& part, ValueId from, std::int64_t in, std::int64_t out) {
    const ValueId weight = net.weight(name + part + ".weight", {experts, in, out}, static_cast<double>(in));
    return net.op(name + part + "/MatMul", "MatMul", {from, weight});
  };
  const ValueId gate = batched("/gate_proj", x, sizes.hidden, sizes.inner);
  const ValueId up = batched("/up_proj", x, sizes.hidden, sizes.inner);
  return batched("/down_proj", gated(net, name + "/act", gate, up), sizes.inner, sizes.hidden);
}

struct Routing {
  std::int64_t experts, top, capacity;
};

// What is beyond the experts' places for `tokens` tokens is dropped.
Routing read_routing(const Recipe& recipe, std::int64_t tokens) {
  const std::int64_t experts = recipe.number("experts");
  const std::int64_t top = recipe.number("top");
  if (top > experts) throw Error("parameter top: {} found, at most experts {} needed", top, experts);
  const std::int64_t even = (tokens * top + experts - 1) / experts;
  const std::int64_t capacity = recipe.count("capacity");
  return {experts, top, std::min(tokens, capacity == 0 ? even : capacity)};
}

// The gates' values [.., experts] of the best experts, 0 for all others; `shape` is that of the gates.
ValueId best_gates(Net& net, const std::string& name, ValueId gates, const ir::Dims& shape,
                   const Routing& routing) {
  const auto best = net.ops(name + "/TopK", "TopK", {gates, net.ints({routing.top})}, 2);
  const ValueId none = net.op(name + "/Expand", "Expand", {net.scalar(0), net.ints(shape)});
  return net.op(name + "/ScatterElements", "ScatterElements", {none, best[1], best[0]},
                {{"axis", std::int64_t{-1}}});
}

ValueId dense_experts(Net& net, const std::string& name, ValueId rows, ValueId gates, const Routing& routing,
                      const DecoderSizes& sizes) {
  const ValueId made =
      experts_of(net, name + "/experts", net.op(name + "/Unsqueeze", "Unsqueeze", {rows, net.ints({0})}),
                 routing.experts, sizes);
  const ValueId turned = net.op(name + "/Transpose", "Transpose", {gates}, {{"perm", ir::IntList{1, 0}}});
  const ValueId shares = net.op(name + "/Unsqueeze_1", "Unsqueeze", {turned, net.ints({2})});
  const ValueId weighted = net.op(name + "/Mul", "Mul", {made, shares});
  return net.op(name + "/ReduceSum", "ReduceSum", {weighted, net.ints({0})}, {{"keepdims", std::int64_t{0}}});
}

ValueId routed_experts(Net& net, const std::string& name, ValueId rows, ValueId gates, const Routing& routing,
                       const DecoderSizes& sizes) {
  const ValueId best = best_gates(net, name, gates, {sizes.tokens(), routing.experts}, routing);
  const ValueId turned = net.op(name + "/Transpose", "Transpose", {best}, {{"perm", ir::IntList{1, 0}}});
  const auto chosen = net.ops(name + "/TopK_1", "TopK", {turned, net.ints({routing.capacity})}, 2);
  const ValueId mine = net.op(name + "/Gather", "Gather", {rows, chosen[1]}, {{"axis", std::int64_t{0}}});
  const ValueId made = experts_of(net, name + "/experts", mine, routing.experts, sizes);
  const ValueId shares = net.op(name + "/Unsqueeze", "Unsqueeze", {chosen[0], net.ints({2})});
  const ValueId weighted = net.op(name + "/Mul", "Mul", {made, shares});
  const ValueId places = net.op(name + "/Unsqueeze_1", "Unsqueeze", {chosen[1], net.ints({2})});
  const ValueId none =
      net.op(name + "/Expand_1", "Expand", {net.scalar(0), net.ints({sizes.tokens(), sizes.hidden})});
  return net.op(name + "/ScatterND", "ScatterND", {none, places, weighted},
                {{"reduction", std::string("add")}});
}

// x is [group, token, hidden], gates [group, token, expert].
ValueId einsum_experts(Net& net, const std::string& name, ValueId x, ValueId gates, const Routing& routing,
                       const DecoderSizes& sizes) {
  const bool half = net.recipe().is("type", "float16");
  const auto type = static_cast<std::int64_t>(half ? DataType::Float16 : DataType::Float);
  const ValueId best = best_gates(net, name, gates, {sizes.batch, sizes.sequence, routing.experts}, routing);
  const ValueId is_best = net.op(name + "/Greater", "Greater", {best, net.scalar(0)});
  const ValueId counts =
      net.op(name + "/Cast", "Cast", {is_best}, {{"to", static_cast<std::int64_t>(DataType::Int32)}});
  const ValueId order =
      net.op(name + "/CumSum", "CumSum", {counts, net.constant(Tensor::scalar<std::int64_t>(1))});
  // The first place is 1; who has none gets 0, which is no place, as are those beyond the last.
  const ValueId place = net.op(name + "/Mul", "Mul", {order, counts});
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 1; i <= routing.capacity; ++i) numbers.push_back(static_cast<std::int32_t>(i));
  const ValueId all = net.constant(Tensor::of<std::int32_t>({routing.capacity}, numbers));
  const ValueId apart = net.op(name + "/Unsqueeze", "Unsqueeze", {place, net.ints({3})});
  const ValueId is_at = net.op(name + "/Equal", "Equal", {apart, all});
  const ValueId dispatch = net.op(name + "/Cast_1", "Cast", {is_at}, {{"to", type}});
  const ValueId shares = net.op(name + "/Unsqueeze_1", "Unsqueeze", {best, net.ints({3})});
  const ValueId combine = net.op(name + "/Mul_1", "Mul", {dispatch, shares});
  const ValueId sent =
      net.op(name + "/Einsum", "Einsum", {dispatch, x}, {{"equation", std::string("gtec,gth->egch")}});
  const ValueId rows =
      net.op(name + "/Reshape", "Reshape",
             {sent, net.ints({routing.experts, sizes.batch * routing.capacity, sizes.hidden})});
  const ValueId made = experts_of(net, name + "/experts", rows, routing.experts, sizes);
  const ValueId back =
      net.op(name + "/Reshape_1", "Reshape",
             {made, net.ints({routing.experts, sizes.batch, routing.capacity, sizes.hidden})});
  return net.op(name + "/Einsum_1", "Einsum", {combine, back}, {{"equation", std::string("gtec,egch->gth")}});
}

ValueId expert_layer(Net& net, const std::string& name, ValueId x, const DecoderSizes& sizes) {
  const Recipe& recipe = net.recipe();
  const bool in_groups = recipe.is("routing", "einsum");
  const Routing routing = read_routing(recipe, in_groups ? sizes.sequence : sizes.tokens());
  const ValueId rows =
      in_groups ? x : net.op(name + "/rows", "Reshape", {x, net.ints({sizes.tokens(), sizes.hidden})});
  const ValueId scores = project(net, name + "/gate", rows, sizes.hidden, routing.experts);
  const ValueId gates = net.op(name + "/Softmax", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (in_groups) return einsum_experts(net, name, x, gates, routing, sizes);
  ValueId y;
  if (recipe.is("routing", "dense")) {
    y = dense_experts(net, name, rows, gates, routing, sizes);
  } else if (recipe.is("routing", "routed")) {
    y = routed_experts(net, name, rows, gates, routing, sizes);
  } else {
    throw Error("parameter routing: '{}' found, dense, einsum or routed needed", recipe.word("routing"));
  }
  return net.op(name + "/tokens", "Reshape", {y, net.ints({sizes.batch, sizes.sequence, sizes.hidden})});
}

using MakeMlp = ValueId (*)(Net&, const std::string&, ValueId, const DecoderSizes&);

BuiltModel decoder(const Recipe& recipe, MakeMlp make_mlp) {
  Net net(recipe);
  const DecoderSizes sizes = decoder_sizes(recipe);
  const std::int64_t vocabulary = recipe.number("vocabulary");
  const ValueId ids = net.input("input_ids", DataType::Int64, {sizes.batch, sizes.sequence});
  const ValueId table = net.weight("embed_tokens.weight", {vocabulary, sizes.hidden}, 1.0, 0.01);
  ValueId x = net.op("embed_tokens/Gather", "Gather", {table, ids}, {{"axis", std::int64_t{0}}});
  const Rotary rotary = rotary_tables(net, sizes);
  for (std::int64_t i = 0; i < recipe.number("layers"); ++i) {
    const std::string name = fmt::format("layers.{}", i);
    const ValueId normal = rms_norm(net, name + "/input_layernorm", x, sizes.hidden);
    x = net.op(name + "/Add", "Add", {x, decoder_attention(net, name + "/self_attn", normal, rotary, sizes)});
    const ValueId after = rms_norm(net, name + "/post_attention_layernorm", x, sizes.hidden);
    x = net.op(name + "/Add_1", "Add", {x, make_mlp(net, name + "/mlp", after, sizes)});
  }
  x = rms_norm(net, "norm", x, sizes.hidden);
  if (recipe.is("head", "tied")) {
    const ValueId turned = net.op("lm_head/Transpose", "Transpose", {table}, {{"perm", ir::IntList{1, 0}}});
    x = net.op("lm_head/MatMul", "MatMul", {x, turned});
  } else if (recipe.is("head", "untied")) {
    x = project(net, "lm_head", x, sizes.hidden, vocabulary);
  } else {
    throw Error("parameter head: '{}' found, untied or tied needed", recipe.word("head"));
  }
  net.classify(x, ClassAxis::Last);
  return net.finish(net.is_primitive() ? 20 : 23);
}

BuiltModel llama(const Recipe& recipe) { return decoder(recipe, gated_mlp); }
BuiltModel experts(const Recipe& recipe) { return decoder(recipe, expert_layer); }

}  // namespace

std::vector<ModelSpec> decoder_models() {
  const auto sizes = [](std::string_view inner) -> std::vector<ParameterSpec> {
    return {
        {"layers", "12", "transformer layers"},
        {"hidden", "768", "features of a token"},
        {"heads", "12", "attention heads of queries"},
        {"kv_heads", "4", "of keys and values, each for as many queries; 0: as many as heads"},
        {"inner", inner, "features inside of an MLP"},
        {"sequence", "128", "tokens of a sequence"},
        {"batch", "1", "sequences at once"},
        {"vocabulary", "32000", "words"},
        {"head", "untied", "untied, or tied: the words' scores by the embeddings' table"},
    };
  };
  std::vector<ParameterSpec> with_experts = sizes("512");
  with_experts.insert(with_experts.end(),
                      {{"experts", "8", "MLPs of a layer"},
                       {"top", "2", "experts of a token, where not all of them are"},
                       {"routing", "routed",
                        "dense: all experts, weighted; einsum: masks of the places in experts; routed: TopK, "
                        "gathered and scattered"},
                       {"capacity", "0", "tokens of an expert (einsum: of a sequence); 0: an even share"}});
  return {
      {"llama", "LLaMA decoder: RMSNorm, rotary positions, grouped queries, gated MLP", sizes("2048"), llama},
      {"moe", "LLaMA decoder with experts in place of MLPs", with_experts, experts},
  };
}

}  // namespace podium::models
