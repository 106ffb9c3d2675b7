// Attention, FlexAttention and RotaryEmbedding. Q, K and V lie as [batch, heads, length, size] or as
// [batch, length, heads * size]; every rule reads the first form, which heads_first gives. Rules check the
// heads of Q against those of K and V, add the length of the past to that of K, and hold a mask against the
// scores [batch, heads, rows, total].
#include "ir/ops/attention.h"

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/linear_attention.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

constexpr TypeSet kMasks = kNumeric | kBool;

std::string_view input_name(const TypedOp& op, std::size_t input) { return op.op.spec->inputs[input].name; }

std::int64_t heads_attribute(const TypedOp& op, std::string_view name) {
  const auto* heads = op.get_if<std::int64_t>(name);
  if (heads == nullptr) throw Error("{} is needed when Q, K and V have 3 axes", name);
  return *heads;
}

// [batch, heads, length, size], whichever way the tensor lies.
Dims heads_first(const TypedOp& op, std::size_t input, std::string_view heads_name) {
  const Dims& dims = op.dims(input);
  if (dims.size() == 4) return dims;
  if (dims.size() != 3) throw Error("{} is {}, 3 or 4 axes needed", input_name(op, input), to_string(dims));
  const std::int64_t heads = heads_attribute(op, heads_name);
  return {dims[0], heads, dims[1], head_size(dims[2], heads, input_name(op, input))};
}

void check_heads(const Dims& q, const Dims& k, const Dims& v) {
  if (differ(q[0], k[0]) || differ(k[0], v[0]) || differ(q[0], v[0]))
    throw Error("Q has a batch of {}, K of {}, V of {}: one batch needed", q[0], k[0], v[0]);
  if (differ(q[3], k[3])) throw Error("heads of Q have {} elements, those of K {}", q[3], k[3]);
  if (differ(k[1], v[1])) throw Error("K has {} heads, V {}", k[1], v[1]);
  if (differ(k[2], v[2])) throw Error("K has {} positions, V {}", k[2], v[2]);
  if (q[1] != kUnknown && k[1] != kUnknown && (k[1] == 0 || q[1] % k[1] != 0)) {
    throw Error("Q has {} heads, a multiple of the {} of K needed", q[1], k[1]);
  }
}

void check_mask(const InferContext& context, const Dims& scores) {
  if (!context.has_input(AttentionInput::kMask) || !context.has_rank(AttentionInput::kMask)) return;
  const Dims& mask = context.dims(AttentionInput::kMask);
  bool fits = !mask.empty() && mask.size() <= 4;
  for (std::size_t back = 1; fits && back <= mask.size(); ++back) {
    const std::int64_t size = mask[mask.size() - back];
    const std::int64_t needed = scores[4 - back];
    fits = back == 1 ? !differ(size, needed) || size < needed : size == 1 || !differ(size, needed);
  }
  if (!fits) throw Error("attn_mask {} does not broadcast to {}", to_string(mask), to_string(scores));
}

// Behind FlexAttention's three inputs come captures of its bodies.
bool has_formal(const TypedOp& op, std::size_t input) {
  return input < op.op.formal_inputs() && op.has_input(input);
}

// Of a past that lies as `present` does, the keys or the values that it goes before.
std::int64_t past_length(const TypedOp& op, std::size_t input, const Dims& present) {
  if (!has_formal(op, input)) return 0;
  if (!op.input(input).has_rank) return kUnknown;
  const Dims& dims = op.dims(input);
  const bool fits = dims.size() == 4 && !differ(dims[0], present[0]) && !differ(dims[1], present[1]) &&
                    !differ(dims[3], present[3]);
  if (!fits) {
    throw Error("{} is {}, [{}, {}, positions, {}] needed", input_name(op, input), to_string(dims),
                present[0], present[1], present[3]);
  }
  return dims[2];
}

void check_lengths(const TypedOp& op, std::int64_t batch) {
  if (!has_formal(op, AttentionInput::kLengths) || !op.input(AttentionInput::kLengths).has_rank) return;
  const Dims& dims = op.dims(AttentionInput::kLengths);
  if (dims.size() != 1 || differ(dims[0], batch))
    throw Error("nonpad_kv_seqlen is {}, [{}] needed", to_string(dims), batch);
}

bool has_shape(const InferContext& context) {
  return context.has_rank(AttentionInput::kQ) && context.has_rank(AttentionInput::kK) &&
         context.has_rank(AttentionInput::kV);
}

void infer_attention(InferContext& context) {
  const DataType element = context.element(AttentionInput::kQ);
  const DataType element_v = context.element(AttentionInput::kV);
  if (!has_shape(context)) {
    for (std::size_t i : {AttentionOutput::kY, AttentionOutput::kPresentKey, AttentionOutput::kScores})
      context.set_output_element(i, element);
    return context.set_output_element(AttentionOutput::kPresentValue, element_v);
  }
  const AttentionShape shape = attention_shape(context);
  check_mask(context, shape.scores());
  context.set_output(AttentionOutput::kY, element, shape.y());
  context.set_output(AttentionOutput::kPresentKey, element, shape.present_key());
  context.set_output(AttentionOutput::kPresentValue, element_v, shape.present_value());
  context.set_output(AttentionOutput::kScores, element, shape.scores());
}

// The type a body of FlexAttention declares for what it is given, or else that of the softmax.
DataType modified_type(const InferContext& context, std::string_view name) {
  const Body* body = context.get_if<Body>(name);
  if (body != nullptr && !(*body)->inputs.empty()) {
    const DataType declared = (**body)[(*body)->inputs[0]].type.element;
    if (is_float(declared)) return declared;
  }
  return context.element(AttentionInput::kQ) == DataType::Double ? DataType::Double : DataType::Float;
}

void infer_flex_attention(InferContext& context) {
  Dims scores;
  if (has_shape(context)) {
    for (std::size_t i : {AttentionInput::kQ, AttentionInput::kK, AttentionInput::kV}) {
      if (context.dims(i).size() != 4)
        throw Error("{} is {}, 4 axes needed", input_name(context, i), to_string(context.dims(i)));
    }
    const AttentionShape shape = attention_shape(context);
    scores = shape.scores();
    context.set_output(AttentionOutput::kY, context.element(AttentionInput::kQ), shape.y());
  } else {
    context.set_output_element(AttentionOutput::kY, context.element(AttentionInput::kQ));
  }
  for (std::string_view name : {"score_mod", "prob_mod"}) {
    if (context.get_if<Body>(name) == nullptr) continue;
    const DataType type = modified_type(context, name);
    context.infer_body(name, {has_shape(context) ? Type::tensor(type, scores) : Type::tensor(type)});
  }
}

double count(std::int64_t elements) { return elements < 0 ? 0 : static_cast<double>(elements); }

// Columns of the caches that the turned part of a head needs; kUnknown when the size of a head is not known.
std::int64_t rotary_angles(const InferContext& context) {
  const Dims& x = context.dims(RotaryInput::kX);
  if (x.size() != 3 && x.size() != 4) throw Error("X is {}, 3 or 4 axes needed", to_string(x));
  const std::int64_t size = x.size() == 4 ? x[3] : head_size(x[2], context.get_int("num_heads"), "X");
  const std::int64_t wanted = context.get_int("rotary_embedding_dim");
  const std::int64_t turned = wanted == 0 ? size : wanted;
  if (turned == kUnknown) return kUnknown;
  if (turned < 0 || turned % 2 != 0 || (size != kUnknown && turned > size))
    throw Error("rotary_embedding_dim is {}, an even number up to {} needed", turned, size);
  return turned / 2;
}

// The caches have a row for each position that there is, or for each element of the batch and position in it.
void check_rotary_caches(const InferContext& context, std::int64_t angles) {
  const Dims& x = context.dims(RotaryInput::kX);
  const Dims places{x[0], x[x.size() - 2]};
  const bool by_position = context.has_input(RotaryInput::kPositions);
  for (std::size_t i : {RotaryInput::kCosines, RotaryInput::kSines}) {
    if (!context.has_rank(i)) continue;
    const Dims& cache = context.dims(i);
    const bool fits = by_position
                          ? cache.size() == 2
                          : cache.size() == 3 && !differ(cache[0], places[0]) && !differ(cache[1], places[1]);
    if (!fits || (cache.back() != kUnknown && cache.back() < angles)) {
      throw Error("{} is {}, {} with at least {} columns needed", input_name(context, i), to_string(cache),
                  by_position ? "one row for each position" : "one row for each batch element and position",
                  angles);
    }
  }
  if (context.has_rank(RotaryInput::kCosines) && context.has_rank(RotaryInput::kSines))
    merged(context.dims(RotaryInput::kCosines), context.dims(RotaryInput::kSines), "cos_cache and sin_cache");
  if (by_position && context.has_rank(RotaryInput::kPositions))
    merged(context.dims(RotaryInput::kPositions), places, "position_ids and the positions of X");
}

void infer_rotary(InferContext& context) {
  if (context.has_rank(RotaryInput::kX)) check_rotary_caches(context, rotary_angles(context));
  same_as_input(context);
}

// Two products with K's and V's positions for every row of Q, and the softmax between.
Work attention_work(const TypedOp& op) {
  const AttentionShape shape = attention_shape(op);
  const double y = count(op.output(AttentionOutput::kY).element_count());
  const double q = count(op.input(AttentionInput::kQ).element_count());
  const double positions = count(shape.added) + count(shape.past);
  return {.flop = (2 * q + 2 * y) * positions, .bytes = io_bytes(op)};
}

// A mask of a lower rank is one for all.
bool attention_samples(const SampledOp& op) {
  constexpr unsigned kAll = (2U << AttentionInput::kLengths) - 1;
  return samples_come_first(op, kAll) &&
         (!op.has(AttentionInput::kMask) || op.typed.input(AttentionInput::kMask).rank() == 4);
}

// Tables of sines and cosines are for all samples, unless they have three dimensions.
bool rotary_samples(const SampledOp& op) {
  using enum RotaryInput::Place;
  const bool own_tables = op.has(kCosines) || op.has(kSines);
  return samples_come_first(op, 1U << kCosines | 1U << kSines | 1U << kPositions) &&
         (!own_tables || op.typed.input(kCosines).rank() == 3);
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

std::int64_t head_size(std::int64_t hidden, std::int64_t heads, std::string_view what) {
  if (hidden == kUnknown) return kUnknown;
  if (heads <= 0 || hidden % heads != 0)
    throw Error("{} has {} columns, a multiple of its {} heads needed", what, hidden, heads);
  return hidden / heads;
}

Dims AttentionShape::y() const {
  if (!is_flat) return {batch, q_heads, rows, v_head};
  return {batch, rows, q_heads == kUnknown ? kUnknown : times(v_head, q_heads)};
}

bool attends_in_blocks(const Dims& scores) {
  constexpr std::int64_t kLeastScores = 1 << 20;
  constexpr std::int64_t kLeastRows = 64;
  constexpr std::int64_t kLeastPositions = 128;
  return scores.size() >= 2 && element_count(scores) >= kLeastScores &&
         scores[scores.size() - 2] >= kLeastRows && scores.back() >= kLeastPositions;
}

AttentionShape attention_shape(const TypedOp& op) {
  const Dims q = heads_first(op, AttentionInput::kQ, "q_num_heads");
  const Dims k = heads_first(op, AttentionInput::kK, "kv_num_heads");
  const Dims v = heads_first(op, AttentionInput::kV, "kv_num_heads");
  check_heads(q, k, v);
  if (has_formal(op, AttentionInput::kPastKey) != has_formal(op, AttentionInput::kPastValue))
    throw Error("one of past_key and past_value found, both or neither needed");
  const std::int64_t past = past_length(op, AttentionInput::kPastKey, k);
  if (differ(past, past_length(op, AttentionInput::kPastValue, v)))
    throw Error("past_key and past_value differ in length");
  check_lengths(op, q[0]);
  return {.batch = q[0],
          .q_heads = q[1],
          .kv_heads = k[1],
          .rows = q[2],
          .past = past,
          .added = k[2],
          .head = q[3],
          .v_head = v[3],
          .is_flat = op.dims(AttentionInput::kQ).size() == 3};
}

std::vector<std::int64_t> query_places(const TypedOp& op) {
  std::vector<std::int64_t> places;
  const auto* ranges = attribute_if<IntList>(op.op, kQueryRanges);
  for (std::size_t i = 0; ranges != nullptr && i + 1 < ranges->size(); i += 2) {
    for (std::int64_t place = (*ranges)[i]; place < (*ranges)[i + 1]; ++place) places.push_back(place);
  }
  return places;
}

bool sees_by_position(const TypedOp& op) {
  const auto is_bounded = [&](std::string_view name) {
    const auto* width = op.get_if<std::int64_t>(name);
    return width != nullptr && *width >= 0;
  };
  const auto* causal = op.get_if<std::int64_t>("is_causal");
  return (causal != nullptr && *causal != 0) || is_bounded("left_window_size") ||
         is_bounded("right_window_size");
}

// Of a causal op that has all rows half is taken, as for rows without a past.
double share_seen(const TypedOp& op) {
  constexpr double kCausal = 0.5;
  const auto* causal = op.get_if<std::int64_t>("is_causal");
  if (causal == nullptr || *causal == 0) return 1;
  const std::vector<std::int64_t> places = query_places(op);
  const std::int64_t positions = attention_shape(op).positions();
  if (places.empty() || positions <= 0) return kCausal;
  double sum = 0;
  for (std::int64_t place : places) sum += std::min(1.0, (count(place) + 0.5) / count(positions));
  return sum / count(std::ssize(places));
}

std::span<const OpSpec> attention_ops() {
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::Plain, .no_samples = kNotWorkedOut},
      {
          {.name = "Attention",
           .since = 25,
           .gained = 23,
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
           .category = Category::Attention,
           .samples = attention_samples},
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
           .category = Category::Attention},
          linear_attention_row(),
          {.name = "RotaryEmbedding",
           .since = 23,
           .gained = 23,
           .inputs = {{"X"}, {"cos_cache"}, {"sin_cache"}, {"position_ids", 'M', Formal::Optional}},
           .outputs = {{"Y"}},
           .types = {{'T', kFloats}, {'M', kInt64}},
           .attributes = {with_default("interleaved", std::int64_t{0}),
                          with_default("num_heads", std::int64_t{0}),
                          with_default("rotary_embedding_dim", std::int64_t{0})},
           .infer = infer_rotary,
           .work = work_per_element<3>,
           .samples = rotary_samples},
      });
  return kRows;
}

}  // namespace podium::ir
