// Attention as ONNX Runtime contributes it in the domain com.microsoft: with the projections of Q, K and V
// (Attention), without them (MultiHeadAttention), and with a cache for heads that share keys
// (GroupQueryAttention). All become ONNX's Attention. What differs is how a mask is written: lengths, ranges
// or a table of zeros and ones become numbers that are added to the scores, mask_filter_value where nothing
// is to be seen; a causal mask hides altogether. The cache of GroupQueryAttention has room for more positions
// than are in use: rows of K and V are scattered to where each sequence ends, and a mask of bools shows what
// is in use. A sink, which takes part in a softmax but has no value, is a key of zeros behind the others with
// the sink as its bias.
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

struct Projected {
  ValueId q;
  ValueId k;
  ValueId v;
};

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

// [B, S, heads * size] as [B, heads, S, size].
ValueId heads_first(Rewrite& node, ValueId flat, std::int64_t heads) {
  return transposed(node, reshaped(node, flat, {0, 0, heads, -1}), {0, 2, 1, 3});
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

// [B, heads, S, size] as output 0 has it, [B, S, heads * size].
void result_of_heads(Rewrite& node, ValueId y) {
  node.result(0, "Reshape", {transposed(node, y, {0, 2, 1, 3}), node.ints({0, 0, -1})});
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

// The columns of a table of angles that is known, else 0.
std::int64_t known_angles(Rewrite& node, std::size_t input) {
  const ir::Type type = node.type_of(node.input(input));
  return type.has_rank && type.rank() == 2 && type.dims[1] > 0 ? type.dims[1] : 0;
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

// What all parts of one GroupQueryAttention read.
struct GroupQuery {
  enum Place : std::size_t {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLengths,
    kTotal,
    kCosines,
    kSines,
    kPositions,
    kBias,
    kSink,
    kKeyScale,
    kValueScale,
    kQueryNorm,
    kKeyNorm
  };
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t window = -1;
  bool is_causal = true;
  ValueId batch;
  ValueId rows;   // of the query
  ValueId total;  // positions of the longest sequence, 1-D int64 of one element
  ValueId past;   // [B]: positions of each sequence before the query's
};

void refuse_unknown_caches(Rewrite& node) {
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    const auto kind = node.take_or<std::string>(name, "NONE");
    if (kind != "NONE") throw Error("{} is '{}', NONE needed", name, kind);
  }
  node.drop("kv_cache_bit_width");
  refuse_flag(node, "sliding_window_cache");
  refuse_input(node, GroupQuery::kKeyScale, "k_scale");
  refuse_input(node, GroupQuery::kValueScale, "v_scale");
}

GroupQuery group_query_of(Rewrite& node) {
  GroupQuery group;
  group.heads = take_needed<std::int64_t>(node, "num_heads");
  group.kv_heads = take_needed<std::int64_t>(node, "kv_num_heads");
  group.window = node.take_or<std::int64_t>("local_window_size", -1);
  group.is_causal = take_flag(node, "causal", true);
  group.batch = dim_of(node, node.input(GroupQuery::kQuery), 0);
  group.rows = dim_of(node, node.input(GroupQuery::kQuery), 1);
  group.total =
      node.before("Reshape", {cast(node, node.input(GroupQuery::kTotal), DataType::Int64), node.ints({1})});
  const ValueId lengths = node.before(
      "Reshape", {cast(node, node.input(GroupQuery::kLengths), DataType::Int64), node.ints({-1})});
  const ValueId before = node.before("Sub", {node.before("Add", {lengths, node.ints({1})}), group.rows});
  // Nothing is before a first prompt, which the longest sequence of its batch fills.
  const ValueId is_first = node.before("Equal", {group.rows, group.total});
  group.past = node.before("Where", {is_first, node.ints({0}), before});
  return group;
}

// Q, K and V as [B, heads, S, size].
Projected group_query_inputs(Rewrite& node, const GroupQuery& group) {
  const ValueId query = node.input(GroupQuery::kQuery);
  if (node.has_input(GroupQuery::kKey)) {
    if (!node.has_input(GroupQuery::kValue)) throw Error("a key is given without a value");
    return {heads_first(node, query, group.heads),
            heads_first(node, node.input(GroupQuery::kKey), group.kv_heads),
            heads_first(node, node.input(GroupQuery::kValue), group.kv_heads)};
  }
  const ValueId all = heads_first(node, query, group.heads + 2 * group.kv_heads);
  const auto parts = node.before_all("Split", {all, node.ints({group.heads, group.kv_heads, group.kv_heads})},
                                     3, {{"axis", std::int64_t{1}}});
  return {parts[0], parts[1], parts[2]};
}

// Q and K normalised and turned, as far as the node asks for.
void prepare_heads(Rewrite& node, const GroupQuery& group, Projected& projected) {
  const float epsilon = node.take_or("qk_norm_epsilon", 1e-6F);
  const auto normalize = [&](ValueId& x, std::size_t scale) {
    if (node.has_input(scale)) {
      x = node.before("RMSNormalization", {x, node.input(scale)}, {{"epsilon", epsilon}});
    }
  };
  normalize(projected.q, GroupQuery::kQueryNorm);
  normalize(projected.k, GroupQuery::kKeyNorm);
  const auto interleaved = node.take_or<std::int64_t>("rotary_interleaved", 0);
  if (!take_flag(node, "do_rotary")) return;
  if (!node.has_input(GroupQuery::kCosines) || !node.has_input(GroupQuery::kSines)) {
    throw Error("do_rotary is set, cos_cache and sin_cache needed");
  }
  const std::vector<Attribute> attributes{
      {"interleaved", interleaved}, {"rotary_embedding_dim", 2 * known_angles(node, GroupQuery::kCosines)}};
  const ValueId positions =
      node.has_input(GroupQuery::kPositions)
          ? node.input(GroupQuery::kPositions)
          : node.before("Add", {unsqueezed(node, group.past, {1}), counting(node, group.rows)});
  for (ValueId* x : {&projected.q, &projected.k}) {
    *x = node.before("RotaryEmbedding",
                     {*x, node.input(GroupQuery::kCosines), node.input(GroupQuery::kSines), positions},
                     attributes);
  }
}

// The past with room for all positions and what is new in its places; what is new alone without a past.
ValueId present_of(Rewrite& node, const GroupQuery& group, std::size_t past, ValueId added) {
  if (!node.has_input(past)) return added;
  const ValueId missing = node.before("Sub", {group.total, dim_of(node, node.input(past), 2)});
  const ValueId room = node.before("Max", {missing, node.ints({0})});
  const ValueId pads = joined(node, {node.ints({0, 0, 0, 0, 0, 0}), room, node.ints({0})});
  const ValueId cache = node.before("Pad", {node.input(past), pads});
  return node.before("TensorScatter", {cache, added, group.past}, {{"axis", std::int64_t{2}}});
}

// Bools [B, 1, S, total]: which positions each row sees.
ValueId seen_by_rows(Rewrite& node, const GroupQuery& group) {
  const ValueId place = counting(node, group.total);
  if (!group.is_causal) {
    const ValueId length =
        node.before("Add", {cast(node, node.input(GroupQuery::kLengths), DataType::Int64), node.ints({1})});
    return node.before("Less", {place, unsqueezed(node, length, {1, 2, 3})});
  }
  const ValueId row = node.before(
      "Add", {unsqueezed(node, group.past, {1, 2, 3}), unsqueezed(node, counting(node, group.rows), {1})});
  const ValueId causal = node.before("LessOrEqual", {place, row});
  if (group.window <= 0) return causal;
  const ValueId last_hidden = node.before("Sub", {row, node.ints({group.window})});
  return node.before("And", {causal, node.before("Greater", {place, last_hidden})});
}

// The bias where a position is seen, minus infinity elsewhere: [B or 1, heads or 1, S, total].
ValueId biased_mask(Rewrite& node, ValueId seen, ValueId bias, ValueId like) {
  const ValueId hidden = node.number_like(-std::numeric_limits<float>::infinity(), like);
  return node.before("Where", {seen, bias.valid() ? bias : node.number_like(0.0F, like), hidden});
}

// One row of zeros behind the positions that are in use.
ValueId with_sink_row(Rewrite& node, const GroupQuery& group, ValueId heads) {
  const ValueId used = sliced(node, heads, node.ints({0}), group.total, 2);
  return node.before("Pad", {used, node.ints({0, 0, 0, 0, 0, 0, 1, 0})});
}

// The bias of the sink in the place behind the others.
ValueId with_sink_column(Rewrite& node, const GroupQuery& group, ValueId mask, ValueId like) {
  const ValueId shape = joined(node, {group.batch, node.ints({group.heads}), group.rows, node.ints({1})});
  const ValueId sink = node.has_input(GroupQuery::kSink)
                           ? reshaped(node, node.input(GroupQuery::kSink), {1, group.heads, 1, 1})
                           : node.number_like(0.0F, like);
  const ValueId wide = node.before(
      "Expand", {mask, joined(node, {group.batch, node.ints({group.heads}), group.rows, group.total})});
  return node.before("Concat", {wide, node.before("Expand", {sink, shape})}, {{"axis", std::int64_t{-1}}});
}

std::vector<Attribute> take_group_query(Rewrite& node) {
  std::vector<Attribute> attributes{{"softcap", node.take_or("softcap", 0.0F)}};
  if (const float scale = node.take_or("scale", 0.0F); scale != 0) attributes.push_back({"scale", scale});
  const auto shown = node.take_or<std::int64_t>("qk_output", 0);
  if (shown < 0 || shown > 2) throw Error("qk_output is {}, 0 to 2 needed", shown);
  attributes.push_back({"qk_matmul_output_mode", shown == 0 ? 0 : shown + 1});
  return attributes;
}

void group_query_attention(Rewrite& node) {
  refuse_unknown_caches(node);
  const std::vector<Attribute> attributes = take_group_query(node);
  const bool has_sink = take_flag(node, "smooth_softmax") || node.has_input(GroupQuery::kSink);
  const GroupQuery group = group_query_of(node);
  Projected heads = group_query_inputs(node, group);
  prepare_heads(node, group, heads);
  const ValueId key = present_of(node, group, GroupQuery::kPastKey, heads.k);
  const ValueId value = present_of(node, group, GroupQuery::kPastValue, heads.v);
  node.result(1, "Identity", {key});
  node.result(2, "Identity", {value});
  ValueId mask = seen_by_rows(node, group);
  const ValueId bias = node.input(GroupQuery::kBias);
  if (bias.valid() || has_sink) mask = biased_mask(node, mask, bias, heads.q);
  std::vector<ValueId> inputs{heads.q, key, value, mask};
  if (has_sink) {
    inputs = {heads.q, with_sink_row(node, group, key), with_sink_row(node, group, value),
              with_sink_column(node, group, mask, heads.q)};
  }
  const auto out = node.before_all("Attention", inputs, node.has_output(3) ? 4 : 1, attributes);
  result_of_heads(node, out[0]);
  if (node.has_output(3)) {
    node.result(3, "Slice", {out[3], node.ints({0}), group.total, node.ints({3})});
  }
}

}  // namespace

std::span<const ForeignOp> contributed_attention() {
  static constexpr std::array kTable{
      ForeignOp{"Attention", attention, 3, 7, 2},
      ForeignOp{"GroupQueryAttention", group_query_attention, 0b1100001, 16, 4},
      ForeignOp{"MultiHeadAttention", multi_head_attention, 1, 10, 4},
      ForeignOp{"QAttention", q_attention, 0b11111, 9, 2},
      ForeignOp{"RotaryEmbedding", rotary_embedding, 0b1111, 4},
  };
  return kTable;
}

}  // namespace podium::importer
