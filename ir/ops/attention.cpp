#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"

namespace podium::ir {
namespace {

constexpr TypeSet kMasks = kNumeric | kBool;

std::int64_t product(std::int64_t a, std::int64_t b) {
  return a == kUnknown || b == kUnknown ? kUnknown : a * b;
}
std::int64_t sum(std::int64_t a, std::int64_t b) { return a == kUnknown || b == kUnknown ? kUnknown : a + b; }
// Size of one head in the last axis of a [batch, length, heads * size] tensor.
std::int64_t head_size(std::int64_t hidden, std::int64_t heads, std::string_view what) {
  if (hidden == kUnknown) return kUnknown;
  if (heads <= 0 || hidden % heads != 0)
    throw Error("{} has {} columns, a multiple of its {} heads needed", what, hidden, heads);
  return hidden / heads;
}

std::int64_t heads_attribute(const TypedOp& op, std::string_view name) {
  const auto* heads = op.get_if<std::int64_t>(name);
  if (heads == nullptr) throw Error("{} is needed when Q, K and V have 3 axes", name);
  return *heads;
}

// [batch, heads, length, size], whichever way the tensor lies.
Dims heads_first(const TypedOp& op, std::size_t input, std::string_view heads_name) {
  const Dims& dims = op.dims(input);
  if (dims.size() == 4) return dims;
  if (dims.size() != 3)
    throw Error("{} is {}, 3 or 4 axes needed", op.op.spec->inputs[input].name, to_string(dims));
  const std::int64_t heads = heads_attribute(op, heads_name);
  return {dims[0], heads, dims[1], head_size(dims[2], heads, op.op.spec->inputs[input].name)};
}

void check_heads(const Dims& q, const Dims& k, const Dims& v) {
  if (differ(q[3], k[3])) throw Error("heads of Q have {} elements, those of K {}", q[3], k[3]);
  if (differ(k[1], v[1])) throw Error("K has {} heads, V {}", k[1], v[1]);
  if (differ(k[2], v[2])) throw Error("K has {} positions, V {}", k[2], v[2]);
  if (q[1] != kUnknown && k[1] != kUnknown && (k[1] == 0 || q[1] % k[1] != 0)) {
    throw Error("Q has {} heads, a multiple of the {} of K needed", q[1], k[1]);
  }
}

void check_mask(const InferContext& context, const Dims& scores) {
  if (!context.has_input(3) || !context.has_rank(3)) return;
  const Dims& mask = context.dims(3);
  bool fits = !mask.empty() && mask.size() <= 4;
  for (std::size_t back = 1; fits && back <= mask.size(); ++back) {
    const std::int64_t size = mask[mask.size() - back];
    const std::int64_t needed = scores[4 - back];
    fits = back == 1 ? !differ(size, needed) || size < needed : size == 1 || !differ(size, needed);
  }
  if (!fits) throw Error("attn_mask {} does not broadcast to {}", to_string(mask), to_string(scores));
}

std::int64_t past_length(const InferContext& context, std::size_t input) {
  if (!context.has_input(input)) return 0;
  if (!context.has_rank(input)) return kUnknown;
  if (context.dims(input).size() != 4)
    throw Error("{} is {}, 4 axes needed", context.op.spec->inputs[input].name,
                to_string(context.dims(input)));
  return context.dims(input)[2];
}

void infer_attention(InferContext& context) {
  const DataType element = context.element(0);
  const DataType element_v = context.element(2);
  if (!context.has_rank(0) || !context.has_rank(1) || !context.has_rank(2)) {
    for (std::size_t i : {0, 1, 3}) context.set_output_element(i, element);
    return context.set_output_element(2, element_v);
  }
  const Dims q = heads_first(context, 0, "q_num_heads");
  const Dims k = heads_first(context, 1, "kv_num_heads");
  const Dims v = heads_first(context, 2, "kv_num_heads");
  check_heads(q, k, v);
  const std::int64_t past = past_length(context, 4);
  if (differ(past, past_length(context, 5))) throw Error("past_key and past_value differ in length");
  const std::int64_t total = sum(past, k[2]);
  const Dims scores{q[0], q[1], q[2], total};
  check_mask(context, scores);
  const bool is_flat = context.dims(0).size() == 3;
  context.set_output(0, element,
                     is_flat ? Dims{q[0], q[2], product(q[1], v[3])} : Dims{q[0], q[1], q[2], v[3]});
  context.set_output(1, element, {k[0], k[1], total, k[3]});
  context.set_output(2, element_v, {v[0], v[1], total, v[3]});
  context.set_output(3, element, scores);
}

// The type a body of FlexAttention declares for what it is given, or else that of the softmax.
DataType modified_type(const InferContext& context, std::string_view name) {
  const Body* body = context.get_if<Body>(name);
  if (body != nullptr && !(*body)->inputs.empty()) {
    const DataType declared = (**body)[(*body)->inputs[0]].type.element;
    if (is_float(declared)) return declared;
  }
  return context.element(0) == DataType::Double ? DataType::Double : DataType::Float;
}

void infer_flex_attention(InferContext& context) {
  const bool has_ranks = context.has_rank(0) && context.has_rank(1) && context.has_rank(2);
  Dims scores;
  if (has_ranks) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (context.dims(i).size() != 4)
        throw Error("{} is {}, 4 axes needed", context.op.spec->inputs[i].name, to_string(context.dims(i)));
    }
    check_heads(context.dims(0), context.dims(1), context.dims(2));
    scores = {context.dims(0)[0], context.dims(0)[1], context.dims(0)[2], context.dims(1)[2]};
    context.set_output(0, context.element(0), {scores[0], scores[1], scores[2], context.dims(2)[3]});
  } else {
    context.set_output_element(0, context.element(0));
  }
  for (std::string_view name : {"score_mod", "prob_mod"}) {
    if (context.get_if<Body>(name) == nullptr) continue;
    const DataType type = modified_type(context, name);
    context.infer_body(name, {has_ranks ? Type::tensor(type, scores) : Type::tensor(type)});
  }
}

void infer_linear_attention(InferContext& context) {
  const std::int64_t q_heads = context.get_int("q_num_heads");
  const std::int64_t kv_heads = context.get_int("kv_num_heads");
  if (kv_heads <= 0 || q_heads <= 0 || q_heads % kv_heads != 0) {
    throw Error("q_num_heads is {}, a multiple of kv_num_heads {} needed", q_heads, kv_heads);
  }
  const DataType state = context.has_input(3) ? context.element(3) : context.element(0);
  if (!context.has_rank(0) || !context.has_rank(1) || !context.has_rank(2)) {
    context.set_output_element(0, context.element(0));
    return context.set_output_element(1, state);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.dims(i).size() != 3)
      throw Error("{} is {}, 3 axes needed", context.op.spec->inputs[i].name, to_string(context.dims(i)));
  }
  const Dims& query = context.dims(0);
  const std::int64_t keys = head_size(query[2], q_heads, "query");
  const std::int64_t values = head_size(context.dims(2)[2], kv_heads, "value");
  if (differ(keys, head_size(context.dims(1)[2], kv_heads, "key")))
    throw Error("heads of query and key differ in size");
  context.set_output(0, context.element(0), {query[0], query[1], product(q_heads, values)});
  context.set_output(1, state, {query[0], kv_heads, keys, values});
}

double count(std::int64_t elements) { return elements < 0 ? 0 : static_cast<double>(elements); }

// Two products with K's and V's positions for every row of Q, and the softmax between.
Work attention_work(const TypedOp& op) {
  const double y = count(op.output(0).element_count());
  const double q = count(op.input(0).element_count());
  const Dims& k = op.dims(1);
  double positions = count(k[k.size() == 4 ? 2 : 1]);
  // Behind FlexAttention's formal inputs come captures of its bodies.
  if (op.op.formal_inputs() > 4 && op.has_input(4)) positions += count(op.dims(4)[2]);
  return {.flop = (2 * q + 2 * y) * positions, .bytes = io_bytes(op)};
}

Work linear_attention_work(const TypedOp& op) {
  const double state = count(op.output(1).element_count());
  return {.flop = 6 * state * count(op.dims(0)[1]), .bytes = io_bytes(op)};
}

std::vector<AttributeSpec> attention_attributes() {
  return {with_default("is_causal", std::int64_t{0}),
          may_have("kv_num_heads", AttributeKind::Int),
          with_default("left_window_size", std::int64_t{-1}),
          may_have("q_num_heads", AttributeKind::Int),
          with_default("qk_matmul_output_mode", std::int64_t{0}),
          with_default("right_window_size", std::int64_t{-1}),
          may_have("scale", AttributeKind::Float),
          with_default("softcap", 0.0F),
          may_have("softmax_precision", AttributeKind::Int)};
}

}  // namespace

std::span<const OpSpec> attention_ops() {
  static const std::vector<OpSpec> kRows{
      {.name = "Attention",
       .since = 25,
       .inputs = {{"Q"},
                  {"K"},
                  {"V", 'V'},
                  {"attn_mask", 'U', Formal::Optional},
                  {"past_key", 'T', Formal::Optional},
                  {"past_value", 'V', Formal::Optional},
                  {"nonpad_kv_seqlen", 'I', Formal::Optional}},
       .outputs = {{"Y"},
                   {"present_key", 'T', Formal::Optional},
                   {"present_value", 'V', Formal::Optional},
                   {"qk_matmul_output", 'T', Formal::Optional}},
       .types = {{'T', kFloats}, {'V', kFloats}, {'U', kMasks}, {'I', kInt64}},
       .attributes = attention_attributes(),
       .infer = infer_attention,
       .work = attention_work,
       .gradient = attention_gradient},
      {.name = "FlexAttention",
       .domain = "ai.onnx.preview",
       .since = 1,
       .inputs = {{"Q"}, {"K"}, {"V"}},
       .outputs = {{"Y"}},
       .types = {{'T', kFloats}},
       .attributes = {may_have("prob_mod", AttributeKind::Graph), may_have("scale", AttributeKind::Float),
                      may_have("score_mod", AttributeKind::Graph),
                      may_have("softmax_precision", AttributeKind::Int)},
       .infer = infer_flex_attention,
       .work = attention_work,
       .gradient = flex_attention_gradient},
      {.name = "LinearAttention",
       .since = 27,
       .inputs = {{"query"},
                  {"key"},
                  {"value"},
                  {"past_state", 'S', Formal::Optional},
                  {"decay", 'T', Formal::Optional},
                  {"beta", 'T', Formal::Optional},
                  {"erase_gate", 'T', Formal::Optional}},
       .outputs = {{"output"}, {"present_state", 'S', Formal::Optional}},
       .types = {{'T', kFloats}, {'S', kFloats}},
       .attributes = {with_default("chunk_size", std::int64_t{64}),
                      must_have("kv_num_heads", AttributeKind::Int),
                      must_have("q_num_heads", AttributeKind::Int), with_default("scale", 0.0F),
                      with_default("update_rule", std::string("gated_delta"))},
       .infer = infer_linear_attention,
       .work = linear_attention_work,
       .gradient = linear_attention_gradient},
      {.name = "RotaryEmbedding",
       .since = 23,
       .inputs = {{"X"}, {"cos_cache"}, {"sin_cache"}, {"position_ids", 'M', Formal::Optional}},
       .outputs = {{"Y"}},
       .types = {{'T', kFloats}, {'M', kInt64}},
       .attributes = {with_default("interleaved", std::int64_t{0}),
                      with_default("num_heads", std::int64_t{0}),
                      with_default("rotary_embedding_dim", std::int64_t{0})},
       .infer = same_as_input,
       .work = work_per_element<3>,
       .gradient = rotary_embedding_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
