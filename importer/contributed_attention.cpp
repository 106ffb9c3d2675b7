// Attention as ONNX Runtime contributes it in the domain com.microsoft: with the projections of Q, K and V
// (Attention) or without them (MultiHeadAttention). Both become ONNX's Attention. What differs is how a mask
// is written: lengths, ranges or a table of zeros and ones become numbers that are added to the scores,
// mask_filter_value where nothing is to be seen; a causal mask hides altogether.
#include <array>
#include <limits>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

ValueId int_scalar(Rewrite& node, std::int64_t value) { return node.constant(Tensor::scalar(value)); }

// What is added to the scores: 0 where the mask is not 0, `filter` elsewhere.
ValueId hidden_by(Rewrite& node, ValueId mask, float filter, ValueId like) {
  const ValueId seen = cast(node, mask, DataType::Bool);
  return node.before("Where", {seen, node.number_like(0.0F, like), node.number_like(filter, like)});
}

// [B] ends, or [2B] ends and then starts, as bools [B, positions].
ValueId within_ranges(Rewrite& node, ValueId mask, ValueId batch, ValueId positions) {
  const ValueId rows =
      node.before("Reshape", {cast(node, mask, DataType::Int64), joined(node, {node.ints({-1}), batch})});
  const ValueId zeros = node.before("Expand", {node.constant(Tensor::of<std::int64_t>({1, 1}, {0})),
                                               joined(node, {node.ints({1}), batch})});
  const ValueId padded = node.before("Concat", {rows, zeros}, {{"axis", std::int64_t{0}}});
  const auto row = [&](std::int64_t i) {
    return unsqueezed(node, node.before("Gather", {padded, int_scalar(node, i)}), {1});
  };
  const ValueId place = counting(node, positions);
  return node.before("And",
                     {node.before("Less", {place, row(0)}), node.before("GreaterOrEqual", {place, row(1)})});
}

// Where positions of K are, and of how many: what masks are made for.
struct Scores {
  ValueId batch = {};      // 1-D int64 of one element, as the others
  ValueId rows = {};       // of Q
  ValueId past = {};       // positions before the first row of K
  ValueId positions = {};  // of K with its past
};

// The mask of input `i` in the form that is added to the scores [B, heads, rows, positions]; kNoValue without
// one.
ValueId added_mask(Rewrite& node, std::size_t i, float filter, const Scores& scores, ValueId like) {
  if (!node.has_input(i)) return ir::kNoValue;
  const std::int64_t rank = node.axes_of(i);
  ValueId mask = node.input(i);
  if (rank == 1) {
    mask = unsqueezed(node, within_ranges(node, mask, scores.batch, scores.positions), {1, 2});
  } else if (rank == 2) {
    mask = unsqueezed(node, mask, {1, 2});
  } else if (rank == 3) {
    mask = unsqueezed(node, mask, {1});
  } else if (rank == 4) {
    const ValueId end = node.before("Add", {scores.past, scores.rows});
    mask = sliced(node, mask, scores.past, end, 2);
    mask = sliced(node, mask, node.ints({0}), scores.positions, 3);
  } else {
    throw Error("the mask has {} axes, 1 to 4 needed", rank);
  }
  return hidden_by(node, mask, filter, like);
}

ValueId sum_of_present(Rewrite& node, ValueId a, ValueId b) {
  if (!a.valid()) return b;
  return plus(node, a, b);
}

std::vector<Attribute> take_attention(Rewrite& node, std::int64_t heads) {
  std::vector<Attribute> attributes{{"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (const float scale = node.take_or("scale", 0.0F); scale != 0) attributes.push_back({"scale", scale});
  attributes.push_back({"is_causal", node.take_or<std::int64_t>("unidirectional", 0)});
  return attributes;
}

// K or V out of the past of both.
ValueId past_of(Rewrite& node, std::size_t input, std::int64_t i) {
  return node.has_input(input) ? node.before("Gather", {node.input(input), int_scalar(node, i)})
                               : ir::kNoValue;
}

// `qkv` is [B, S, sizes of Q, K and V].
Projected split_projections(Rewrite& node, ValueId qkv) {
  const auto sizes = node.take_or<IntList>("qkv_hidden_sizes", {});
  if (sizes.empty()) {
    const auto parts = split_evenly(node, qkv, 3);
    return {parts[0], parts[1], parts[2]};
  }
  if (sizes.size() != 3) throw Error("qkv_hidden_sizes has {} entries, 3 needed", sizes.size());
  const auto parts = node.before_all("Split", {qkv, node.ints(sizes)}, 3, {{"axis", std::int64_t{-1}}});
  return {parts[0], parts[1], parts[2]};
}

struct PackedAttentionPlaces {
  std::size_t mask;
  std::size_t past;
  std::size_t bias;
};

// Attention of Q, K and V that lie side by side in `qkv`, with a past and a present that hold K and V in one
// tensor.
void attend_packed(Rewrite& node, ValueId qkv, const PackedAttentionPlaces& places) {
  refuse_flag(node, "do_rotary");
  refuse_flag(node, "past_present_share_buffer");
  node.drop("rotary_embedding_dim");
  const float filter = node.take_or("mask_filter_value", -10000.0F);
  const std::vector<Attribute> attributes =
      take_attention(node, take_needed<std::int64_t>(node, "num_heads"));
  const auto [q, k, v] = split_projections(node, qkv);
  const ValueId past_key = past_of(node, places.past, 0);
  const ValueId past_value = past_of(node, places.past, 1);
  Scores scores{.batch = dim_of(node, q, 0), .rows = dim_of(node, q, 1)};
  scores.past = past_key.valid() ? dim_of(node, past_key, 2) : node.ints({0});
  scores.positions = node.before("Add", {scores.past, scores.rows});
  const ValueId mask =
      sum_of_present(node, added_mask(node, places.mask, filter, scores, q), node.input(places.bias));
  const std::vector<ValueId> inputs{q, k, v, mask, past_key, past_value};
  if (!node.has_output(1)) return node.result(0, "Attention", inputs, attributes);
  const auto out = node.before_all("Attention", inputs, 3, attributes);
  node.result(0, "Identity", {out[0]});
  node.result(1, "Concat", {unsqueezed(node, out[1], {0}), unsqueezed(node, out[2], {0})},
              {{"axis", std::int64_t{0}}});
}

void attention(Rewrite& node) {
  enum : std::size_t { kInput, kWeights, kBias, kMask, kPast, kAddedBias, kPastLength };
  refuse_input(node, kPastLength, "past_sequence_length");
  const ValueId product = node.before("MatMul", {node.input(kInput), node.input(kWeights)});
  attend_packed(node, plus(node, product, node.input(kBias)), {kMask, kPast, kAddedBias});
}

// The same with a product of few-bit numbers.
void q_attention(Rewrite& node) {
  enum : std::size_t {
    kInput,
    kWeights,
    kBias,
    kInputScale,
    kWeightScale,
    kMask,
    kInputZero,
    kWeightZero,
    kPast
  };
  const ValueId sums = node.before("MatMulInteger", {node.input(kInput), node.input(kWeights),
                                                     node.input(kInputZero), node.input(kWeightZero)});
  const ValueId scale = node.before("Mul", {node.input(kInputScale), node.input(kWeightScale)});
  const ValueId product = node.before("Mul", {cast(node, sums, DataType::Float), scale});
  constexpr std::size_t kNone = kPast + 1;
  attend_packed(node, plus(node, product, node.input(kBias)), {kMask, kPast, kNone});
}

// Part `i` of a packed [B, S, heads, parts, size] as [B, heads, S, size].
ValueId unpacked(Rewrite& node, ValueId packed, std::int64_t i) {
  const ValueId part = node.before("Gather", {packed, int_scalar(node, i)}, {{"axis", std::int64_t{3}}});
  return transposed(node, part, {0, 2, 1, 3});
}

// Q, K and V of MultiHeadAttention as [B, heads, length, size], whichever way they lie, with their bias.
Projected multi_head_inputs(Rewrite& node, std::int64_t heads) {
  enum : std::size_t { kQuery, kKey, kValue, kBias };
  if (!node.has_input(kKey)) {
    if (node.axes_of(kQuery) != 5) throw Error("without a key the query needs 5 axes");
    const ValueId packed = node.input(kQuery);
    return {unpacked(node, packed, 0), unpacked(node, packed, 1), unpacked(node, packed, 2)};
  }
  const ValueId width = dim_of(node, node.input(kQuery), 2);
  const ValueId zero = node.ints({0});
  const ValueId two = node.before("Add", {width, width});
  const ValueId end = node.ints({std::numeric_limits<std::int64_t>::max()});
  const auto with_bias = [&](std::size_t i, ValueId from, ValueId to) {
    const ValueId flat = node.input(i);
    const ValueId sum =
        node.has_input(kBias) ? plus(node, flat, sliced(node, node.input(kBias), from, to, 0)) : flat;
    return heads_first(node, sum, heads);
  };
  const ValueId q = with_bias(kQuery, zero, width);
  if (!node.has_input(kValue)) {
    if (node.axes_of(kKey) != 5) throw Error("without a value the key needs 5 axes");
    return {q, unpacked(node, node.input(kKey), 0), unpacked(node, node.input(kKey), 1)};
  }
  if (node.axes_of(kKey) == 4) return {q, node.input(kKey), node.input(kValue)};
  return {q, with_bias(kKey, width, two), with_bias(kValue, two, end)};
}

void multi_head_attention(Rewrite& node) {
  enum : std::size_t {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kAddedBias,
    kPastKey,
    kPastValue,
    kPastLength,
    kBeams
  };
  refuse_input(node, kPastLength, "past_sequence_length");
  refuse_input(node, kBeams, "cache_indirection");
  const float filter = node.take_or("mask_filter_value", -10000.0F);
  const auto heads = take_needed<std::int64_t>(node, "num_heads");
  std::vector<Attribute> attributes = take_attention(node, heads);
  const auto [q, k, v] = multi_head_inputs(node, heads);
  Scores scores{.batch = dim_of(node, q, 0), .rows = dim_of(node, q, 2)};
  scores.past = node.has_input(kPastKey) ? dim_of(node, node.input(kPastKey), 2) : node.ints({0});
  scores.positions = node.before("Add", {scores.past, dim_of(node, k, 2)});
  const ValueId mask =
      sum_of_present(node, added_mask(node, kMask, filter, scores, q), node.input(kAddedBias));
  constexpr std::int64_t kBiasedScores = 2;
  attributes.push_back({"qk_matmul_output_mode", kBiasedScores});
  const auto out = node.before_all("Attention", {q, k, v, mask, node.input(kPastKey), node.input(kPastValue)},
                                   node.has_output(3)                         ? 4
                                   : node.has_output(1) || node.has_output(2) ? 3
                                                                              : 1,
                                   attributes);
  result_of_heads(node, out[0]);
  for (std::size_t i = 1; i < out.size(); ++i) node.result(i, "Identity", {out[i]});
}

// The first position is given, the others follow; [B, S].
ValueId following(Rewrite& node, ValueId first, ValueId batch, ValueId length) {
  const ValueId row = node.before("Add", {cast(node, first, DataType::Int64), counting(node, length)});
  return node.before("Expand", {row, joined(node, {batch, length})});
}

void rotary_embedding(Rewrite& node) {
  enum : std::size_t { kInput, kPositions, kCosines, kSines };
  refuse_flag(node, "is_packed_batching");
  if (node.take_or("scale", 1.0F) != 1.0F) throw Error("scale is not 1, 1 needed");
  std::vector<Attribute> attributes{{"interleaved", node.take_or<std::int64_t>("interleaved", 0)}};
  const auto turned = node.take_or<std::int64_t>("rotary_embedding_dim", 0);
  attributes.push_back({"rotary_embedding_dim", turned});
  auto heads = node.take_or<std::int64_t>("num_heads", 0);
  const bool is_flat = node.axes_of(kInput) == 3;
  ValueId x = node.input(kInput);
  if (is_flat) {
    const std::int64_t angles = known_angles(node, kCosines);
    if (heads == 0 && angles == 0) throw Error("num_heads is 0 and the shape of cos_cache is not known");
    const IntList shape = heads == 0 ? IntList{0, 0, -1, 2 * angles} : IntList{0, 0, heads, -1};
    x = transposed(node, reshaped(node, x, shape), {0, 2, 1, 3});
  }
  ValueId positions = node.input(kPositions);
  if (node.axes_of(kPositions) < 2) {
    positions = following(node, positions, dim_of(node, x, 0), dim_of(node, x, 2));
  }
  const std::vector<ValueId> inputs{x, node.input(kCosines), node.input(kSines), positions};
  if (!is_flat) return node.result(0, "RotaryEmbedding", inputs, attributes);
  result_of_heads(node, node.before("RotaryEmbedding", inputs, attributes));
}

}  // namespace

std::span<const ForeignOp> contributed_attention() {
  static constexpr std::array kTable{
      ForeignOp{"Attention", attention, 3, 7, 2},
      ForeignOp{"MultiHeadAttention", multi_head_attention, 1, 10, 4},
      ForeignOp{"QAttention", q_attention, 0b11111, 9, 2},
      ForeignOp{"RotaryEmbedding", rotary_embedding, 0b1111, 4},
  };
  return kTable;
}

}  // namespace podium::importer
