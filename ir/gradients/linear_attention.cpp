// LinearAttention as a Scan over its steps, whose state is what keys and values have written.
#include <cmath>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/linear_attention.h"

namespace podium::ir {
namespace {

// What a step reads, in this order; each but the first three may be left out. In the body the matrices of
// [batch, heads, ...] have these last two axes.
struct Slices {
  Term query;  // [queries of a head, keys]
  Term key;    // [keys, 1]
  Term value;  // [1, values]
  Term decay;  // [keys or 1, 1]
  Term beta;   // [1, 1]
  Term erase;  // [1, keys]
};

Term row_of(Term key) { return key.call("Transpose", {{"perm", IntList{0, 1, 3, 2}}}); }

class LinearExpansion {
 public:
  explicit LinearExpansion(GradientContext& context) : context_(context) {
    for (std::size_t i :
         {LinearAttentionInput::kQuery, LinearAttentionInput::kKey, LinearAttentionInput::kValue})
      context.static_dims(context.input(i));
    shape_ = linear_attention_shape(TypedOp(context.builder.graph(), context.op));
    const DataType element = context.type(context.input(LinearAttentionInput::kQuery)).element;
    computed_ = element == DataType::Double ? DataType::Double : DataType::Float;
  }

  std::vector<ValueId> outputs() {
    std::vector<ValueId> inputs{first_state()};
    const std::int64_t heads = shape_.kv_heads;
    add(inputs, LinearAttentionInput::kQuery, {heads, shape_.q_heads / heads, shape_.keys});
    add(inputs, LinearAttentionInput::kKey, {heads, shape_.keys, 1});
    add(inputs, LinearAttentionInput::kValue, {heads, 1, shape_.values});
    if (has(LinearAttentionInput::kDecay))
      add(inputs, LinearAttentionInput::kDecay, {heads, columns(LinearAttentionInput::kDecay) / heads, 1});
    if (has(LinearAttentionInput::kBeta))
      add(inputs, LinearAttentionInput::kBeta, {columns(LinearAttentionInput::kBeta), 1, 1});
    if (has(LinearAttentionInput::kErase)) add(inputs, LinearAttentionInput::kErase, {heads, 1, shape_.keys});
    Op scan{.spec = find_op("", "Scan"), .inputs = inputs};
    scan.attributes = {{"body", std::make_shared<const Graph>(body(inputs))},
                       {"num_scan_inputs", std::ssize(inputs) - 1},
                       {"scan_input_axes", IntList(inputs.size() - 1, 1)},
                       {"scan_output_axes", IntList{1}}};
    const std::vector<ValueId> found = context_.builder.append(std::move(scan), 2);
    const ValueId flat = context_.call("Reshape", {found[1], context_.ints(shape_.output())});
    const std::size_t like_state = has(LinearAttentionInput::kPastState) ? LinearAttentionInput::kPastState
                                                                         : LinearAttentionInput::kQuery;
    return {as(flat, context_.type(context_.input(LinearAttentionInput::kQuery)).element),
            as(found[0], context_.type(context_.input(like_state)).element)};
  }

 private:
  bool has(std::size_t input) const { return context_.has_input(input); }

  ValueId as(ValueId x, DataType to) {
    return context_.type(x).element == to ? x : ValueId(term(context_, x).cast(to));
  }

  std::int64_t columns(std::size_t input) const { return context_.static_dims(context_.input(input))[2]; }

  ValueId first_state() {
    if (has(LinearAttentionInput::kPastState))
      return as(context_.input(LinearAttentionInput::kPastState), computed_);
    return context_.builder.constant(filled(computed_, shape_.state(), 0));
  }

  void add(std::vector<ValueId>& inputs, std::size_t input, Dims per_step) {
    per_step.insert(per_step.begin(), {shape_.batch, shape_.steps});
    inputs.push_back(
        context_.call("Reshape", {as(context_.input(input), computed_), context_.ints(per_step)}));
  }

  Graph body(const std::vector<ValueId>& inputs) const {
    Graph graph;
    Builder builder(graph);
    GradientContext inner(builder, Op{}, {}, {});
    std::vector<Term> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type type = i > 0 ? slice_type(context_, inputs[i], 1) : context_.type(inputs[i]);
      given.push_back(term(inner, builder.input(fmt::format("x{}", i), type)));
    }
    std::size_t next = 1;
    const auto take = [&](std::size_t input) {
      return input <= LinearAttentionInput::kValue || has(input) ? given[next++] : given[0];
    };
    const Slices slices{.query = take(LinearAttentionInput::kQuery),
                        .key = take(LinearAttentionInput::kKey),
                        .value = take(LinearAttentionInput::kValue),
                        .decay = take(LinearAttentionInput::kDecay),
                        .beta = take(LinearAttentionInput::kBeta),
                        .erase = take(LinearAttentionInput::kErase)};
    const Term state = written(given[0], slices);
    builder.output(state);
    const auto given_scale = static_cast<double>(attribute<float>(context_.op, "scale"));
    const double scale = given_scale != 0 ? given_scale : 1 / std::sqrt(static_cast<double>(shape_.keys));
    builder.output((slices.query * scale).with("MatMul", state));
    return graph;
  }

  // The state after the step.
  Term written(Term state, const Slices& slices) const {
    if (has(LinearAttentionInput::kDecay)) state = state * slices.decay.call("Exp");
    Term added = slices.value;
    if (has(LinearAttentionInput::kBeta)) {
      Term reader = row_of(slices.key);
      if (has(LinearAttentionInput::kErase)) reader = reader * slices.erase;
      added = slices.beta * (added - reader.with("MatMul", state));
    }
    return state + slices.key * added;
  }

  GradientContext& context_;
  DataType computed_ = DataType::Float;
  LinearAttentionShape shape_ = {};
};

void linear_attention_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return LinearExpansion(inner).outputs(); });
}

}  // namespace

std::span<const GradientRow> linear_attention_gradients() {
  static constexpr GradientRow kRows[]{
      {"LinearAttention", linear_attention_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
