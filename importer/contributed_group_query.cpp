// GroupQueryAttention of ONNX Runtime's domain com.microsoft: heads of Q share those of K and V, which have a
// cache. The cache may have room for more positions than are in use: rows of K and V are scattered to where
// each sequence ends, and a mask of bools shows what is in use. A sink, which takes part in a softmax but has
// no value, is a key of zeros behind the others with the sink as its bias.
#include <array>
#include <limits>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::DataType;
using ir::ValueId;

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
  constexpr std::int64_t kMostHeads = std::int64_t{1} << 31;
  for (const std::int64_t heads : {group.heads, group.kv_heads}) {
    if (heads < 1 || heads > kMostHeads) throw Error("{} heads found, 1 to {} needed", heads, kMostHeads);
  }
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

std::span<const ForeignOp> contributed_group_query() {
  static constexpr std::array kTable{
      ForeignOp{"GroupQueryAttention", group_query_attention, 0b1100001, 16, 4},
  };
  return kTable;
}

}  // namespace podium::importer
