// Attention and RotaryEmbedding as products, a softmax and what changes the scores.
// These ops are differentiated by expansion: the forward op is written out in ops that have gradients, and
// those are differentiated. Attending follows ONNX's definition: heads first, keys and values behind the past
// ones, scores = Q K' scale, softcap, positions that a row may see and the mask (both as one condition, so
// that rows that see nothing become zeros), softmax, times V. Several query heads may share one head of keys
// and values.
#include <cmath>
#include <limits>
#include <optional>

#include "ir/gradients/body.h"
#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/attention.h"

namespace podium::ir {
namespace {

Term cast(Term x, DataType to) { return x.builder->type(x).element == to ? x : x.cast(to); }

Term shaped(Term x, const Dims& dims) { return x.with("Reshape", x.builder->ints(dims)); }

Term with_heads_and_rows_swapped(Term x) { return x.call("Transpose", {{"perm", IntList{0, 2, 1, 3}}}); }

// [batch, heads, length, size] of a tensor that may be [batch, length, heads * size].
Term heads_first(Term x, std::int64_t heads) {
  const Dims dims = x.builder->static_dims(x);
  if (dims.size() == 4) return x;
  return with_heads_and_rows_swapped(shaped(x, {dims[0], dims[1], heads, dims[2] / heads}));
}

// The same back.
Term heads_last(Term x) {
  const Dims dims = x.builder->static_dims(x);
  return shaped(with_heads_and_rows_swapped(x), {dims[0], dims[2], dims[1] * dims[3]});
}

Term whole(Term like, std::int64_t value) {
  return term(*like.builder, like.builder->builder.constant(Tensor::scalar(value)));
}

// a b for each head; several heads of `a` share one of the `heads` of `b`.
Term grouped(Term a, Term b, std::int64_t heads) {
  TermBuilder& context = *a.builder;
  const Dims left = context.static_dims(a);
  const std::int64_t group = left[1] / heads;
  if (group == 1) return a.with("MatMul", b);
  const Term split = shaped(a, {left[0], heads, group, left[2], left[3]});
  const Term product = split.with("MatMul", b.with("Unsqueeze", context.ints({2})));
  return shaped(product, {left[0], left[1], left[2], context.static_dims(product).back()});
}

// NeedsRun when a size is not known.
AttentionShape static_shape(const GradientContext& context) {
  for (std::size_t i : {AttentionInput::kQ, AttentionInput::kK, AttentionInput::kV})
    context.static_dims(context.input(i));
  const AttentionShape shape = attention_shape(TypedOp(context.builder.graph(), context.op));
  if (shape.past == kUnknown) context.static_dims(context.input(AttentionInput::kPastKey));
  return shape;
}

double score_scale(const GradientContext& context, std::int64_t head_size) {
  const auto* given = attribute_if<float>(context.op, "scale");
  return given != nullptr ? static_cast<double>(*given) : 1 / std::sqrt(static_cast<double>(head_size));
}

class Attending {
 public:
  explicit Attending(GradientContext& context) : context_(context) {
    const bool in_double =
        element(AttentionInput::kQ) == DataType::Double || element(AttentionInput::kV) == DataType::Double;
    computed_ = in_double ? DataType::Double : DataType::Float;
    shape_ = static_shape(context);
  }

  // Y, present_key, present_value, qk_matmul_output.
  std::vector<ValueId> outputs() {
    const Term q = heads_first(input(AttentionInput::kQ), shape_.q_heads);
    const Term k = with_past(AttentionInput::kK, AttentionInput::kPastKey);
    const Term v = with_past(AttentionInput::kV, AttentionInput::kPastValue);
    Term scores = grouped(q, k.call("Transpose", {{"perm", IntList{0, 1, 3, 2}}}), shape_.kv_heads) *
                  score_scale(context_, shape_.head);
    const Dims dims = context_.static_dims(scores);
    shown_.push_back(scores);
    const double softcap = static_cast<double>(attribute<float>(context_.op, "softcap"));
    if (softcap > 0) scores = (scores * (1 / softcap)).call("Tanh") * softcap;
    shown_.push_back(scores);
    const Term probabilities = softmax(scores, dims);
    shown_.push_back(probabilities);
    const Term y = grouped(probabilities, v, shape_.kv_heads);
    const std::int64_t mode = attribute<std::int64_t>(context_.op, "qk_matmul_output_mode");
    const auto as_given = [&](Term x, std::size_t i) { return ValueId(cast(x, element(i))); };
    return {as_given(shape_.is_flat ? heads_last(y) : y, AttentionInput::kQ), as_given(k, AttentionInput::kK),
            as_given(v, AttentionInput::kV), as_given(shown_.at(mode), AttentionInput::kQ)};
  }

 private:
  Term input(std::size_t i) { return cast(term(context_, context_.input(i)), computed_); }

  DataType element(std::size_t i) const { return context_.type(context_.input(i)).element; }

  Term with_past(std::size_t i, std::size_t past) {
    const Term now = heads_first(input(i), shape_.kv_heads);
    if (!context_.has_input(past)) return now;
    return term(context_, context_.call("Concat", {input(past), now}, {{"axis", std::int64_t{2}}}));
  }

  void only(Term condition) { visible_ = visible_ ? visible_->with("And", condition) : condition; }

  // What rows may see by their positions: each is the place of its last, plus `offset`.
  void bound_positions(const Dims& dims) {
    const Term column = counted(context_, {1, dims[3]});
    Term row = counted(context_, {dims[2], 1});
    if (context_.has_input(AttentionInput::kLengths)) {
      const Term lengths = shaped(term(context_, context_.input(AttentionInput::kLengths)), {-1, 1, 1, 1});
      only(column < lengths);
      row = shape_.past == 0 ? row + (lengths - whole(row, dims[2])) : row + whole(row, shape_.past);
    } else {
      row = row + whole(row, shape_.past);
    }
    const std::int64_t left = attribute<std::int64_t>(context_.op, "left_window_size");
    const std::int64_t right = attribute<std::int64_t>(context_.op, "right_window_size");
    if (attribute<std::int64_t>(context_.op, "is_causal") != 0) only(column.with("LessOrEqual", row));
    if (right >= 0) only(column.with("LessOrEqual", row + whole(row, right)));
    if (left >= 0) only(column.with("GreaterOrEqual", row - whole(row, left)));
  }

  // A mask of fewer columns hides the others.
  Term masked(Term scores, const Dims& dims) {
    const ValueId mask = context_.input(AttentionInput::kMask);
    const Dims given = context_.static_dims(mask);
    const bool is_bool = context_.type(mask).element == DataType::Bool;
    Term all = is_bool ? term(context_, mask) : input(AttentionInput::kMask);
    if (given.back() < dims[3]) {
      Dims pads(2 * given.size(), 0);
      pads.back() = dims[3] - given.back();
      only(counted(context_, {1, dims[3]}) < whole(all, given.back()));
      all = is_bool ? cast(cast(all, DataType::Float).with("Pad", context_.ints(pads)), DataType::Bool)
                    : all.with("Pad", context_.ints(pads));
    }
    if (is_bool) {
      only(all);
      return scores;
    }
    const Term hides = all.call("IsInf", {{"detect_positive", std::int64_t{0}}});
    only(hides.call("Not"));
    return scores + choose(hides, all.like(0), all);
  }

  // Rows that see nothing become zeros.
  Term softmax(Term scores, const Dims& dims) {
    bound_positions(dims);
    if (context_.has_input(AttentionInput::kMask)) scores = masked(scores, dims);
    if (!visible_) {
      shown_.push_back(scores);
      return scores.call("Softmax");
    }
    shown_.push_back(choose(*visible_, scores, -std::numeric_limits<double>::infinity()));
    return choose(*visible_, choose(*visible_, scores, -1e30).call("Softmax"), 0);
  }

  GradientContext& context_;
  DataType computed_ = DataType::Float;
  AttentionShape shape_ = {};
  std::optional<Term> visible_ = {};
  std::vector<Term> shown_ = {};  // what qk_matmul_output may be, by its mode
};

// What a body of FlexAttention makes of scores or probabilities; captured values follow the three inputs of
// the op.
Term modified(GradientContext& context, std::string_view name, Term x) {
  const Body* body = attribute_if<Body>(context.op, name);
  if (body == nullptr) return x;
  Graph copy = **body;
  if (!random_values(copy).empty()) throw Error("no gradient through what {} draws at random", name);
  const DataType computed = context.type(x).element;
  const DataType declared = (*body)->inputs.empty() ? computed : (**body)[(*body)->inputs[0]].type.element;
  std::vector<ValueId> inputs{cast(x, is_float(declared) ? declared : computed)};
  inputs.insert(inputs.end(), context.op.inputs.begin() + AttentionInput::kV + 1, context.op.inputs.end());
  return cast(term(context, append_graph(context.builder, **body, inputs).at(0)), computed);
}

// Scores of minus infinity are hidden.
std::vector<ValueId> flex_outputs(GradientContext& context) {
  const DataType given = context.type(context.input(AttentionInput::kQ)).element;
  const DataType computed = given == DataType::Double ? DataType::Double : DataType::Float;
  const auto input = [&](std::size_t i) { return cast(term(context, context.input(i)), computed); };
  const AttentionShape shape = static_shape(context);
  const Term keys = input(AttentionInput::kK).call("Transpose", {{"perm", IntList{0, 1, 3, 2}}});
  const Term products = grouped(input(AttentionInput::kQ), keys, shape.kv_heads);
  const Term scores = modified(context, "score_mod", products * score_scale(context, shape.head));
  const Term hidden = scores.call("IsInf", {{"detect_positive", std::int64_t{0}}});
  const Term shares =
      choose(hidden.call("Not"), choose(hidden, scores.like(-1e30), scores).call("Softmax"), 0);
  return {
      cast(grouped(modified(context, "prob_mod", shares), input(AttentionInput::kV), shape.kv_heads), given)};
}

std::vector<Term> split(Term x, const std::vector<std::int64_t>& sizes) {
  std::vector<Term> parts;
  for (ValueId id : x.builder->builder.ops("", "Split", {x, x.builder->ints(sizes)}, sizes.size(),
                                           {{"axis", std::int64_t{-1}}})) {
    parts.push_back({x.builder, id});
  }
  return parts;
}

Term joined(Term a, Term b) { return a.with("Concat", b, {{"axis", std::int64_t{-1}}}); }

// Pairs of numbers turned; a pair is neighbours, or one of each half.
Term turned(Term x, Term cosines, Term sines, bool interleaved) {
  const Dims dims = x.builder->static_dims(x);
  const std::int64_t half = dims[3] / 2;
  const Dims as_pairs{dims[0], dims[1], dims[2], half, 2};
  const Dims as_halves{dims[0], dims[1], dims[2], half};
  std::vector<Term> parts = interleaved ? split(shaped(x, as_pairs), {1, 1}) : split(x, {half, half});
  if (interleaved) parts = {shaped(parts[0], as_halves), shaped(parts[1], as_halves)};
  const Term real = cosines * parts[0] - sines * parts[1];
  const Term imaginary = sines * parts[0] + cosines * parts[1];
  if (!interleaved) return joined(real, imaginary);
  const ValueId last = x.builder->ints({4});
  return shaped(joined(real.with("Unsqueeze", last), imaginary.with("Unsqueeze", last)), dims);
}

std::vector<ValueId> rotary_outputs(GradientContext& context) {
  const Dims given = context.static_dims(context.input(0));
  const Term x =
      heads_first(term(context, context.input(0)), attribute<std::int64_t>(context.op, "num_heads"));
  const std::int64_t size = context.static_dims(x)[3];
  const std::int64_t wanted = attribute<std::int64_t>(context.op, "rotary_embedding_dim");
  const std::int64_t count = wanted == 0 ? size : wanted;
  const auto angles = [&](std::size_t i) {
    Term cache = term(context, context.input(i));
    if (context.has_input(3)) cache = cache.with("Gather", context.input(3));
    const std::int64_t columns = context.static_dims(cache).back();
    if (columns > count / 2) cache = split(cache, {count / 2, columns - count / 2})[0];
    return cache.with("Unsqueeze", context.ints({1}));
  };
  const bool interleaved = attribute<std::int64_t>(context.op, "interleaved") != 0;
  const std::vector<Term> parts = count == size ? std::vector{x} : split(x, {count, size - count});
  const Term first = turned(parts[0], angles(1), angles(2), interleaved);
  const Term y = parts.size() == 1 ? first : joined(first, parts[1]);
  return {given.size() == 3 ? heads_last(y) : y};
}

void attention_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return Attending(inner).outputs(); });
}

void flex_attention_gradient(GradientContext& context) { differentiate_expansion(context, flex_outputs); }

void rotary_embedding_gradient(GradientContext& context) { differentiate_expansion(context, rotary_outputs); }

}  // namespace

std::span<const GradientRow> attention_gradients() {
  static constexpr GradientRow kRows[]{
      {"Attention", attention_gradient},
      {"FlexAttention", flex_attention_gradient, "ai.onnx.preview"},
      {"RotaryEmbedding", rotary_embedding_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
