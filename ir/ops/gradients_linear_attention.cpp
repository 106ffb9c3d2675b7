// LinearAttention as a Scan over its steps, whose state is what keys and values have written.
#include <cmath>

#include "ir/ops/gradient_terms.h"
#include "ir/ops/gradients_expanded.h"

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
    const Dims query = context.static_dims(context.input(0));
    batch_ = query[0];
    steps_ = query[1];
    q_heads_ = attribute<std::int64_t>(context.op, "q_num_heads");
    heads_ = attribute<std::int64_t>(context.op, "kv_num_heads");
    keys_ = query[2] / q_heads_;
    values_ = context.static_dims(context.input(2))[2] / heads_;
    const DataType element = context.type(context.input(0)).element;
    computed_ = element == DataType::Double ? DataType::Double : DataType::Float;
  }

  std::vector<ValueId> outputs() {
    std::vector<ValueId> inputs{first_state()};
    add(inputs, 0, {heads_, q_heads_ / heads_, keys_});
    add(inputs, 1, {heads_, keys_, 1});
    add(inputs, 2, {heads_, 1, values_});
    if (context_.has_input(4)) add(inputs, 4, {heads_, columns(4) / heads_, 1});
    if (context_.has_input(5)) add(inputs, 5, {columns(5), 1, 1});
    if (context_.has_input(6)) add(inputs, 6, {heads_, 1, keys_});
    Op scan{.spec = find_op("", "Scan"), .inputs = inputs};
    scan.attributes = {{"body", std::make_shared<const Graph>(body(inputs))},
                       {"num_scan_inputs", std::ssize(inputs) - 1},
                       {"scan_input_axes", IntList(inputs.size() - 1, 1)},
                       {"scan_output_axes", IntList{1}}};
    const std::vector<ValueId> found = context_.builder.append(std::move(scan), 2);
    const ValueId flat =
        context_.call("Reshape", {found[1], context_.ints({batch_, steps_, q_heads_ * values_})});
    const std::size_t like_state = context_.has_input(3) ? 3 : 0;
    return {as(flat, context_.type(context_.input(0)).element),
            as(found[0], context_.type(context_.input(like_state)).element)};
  }

 private:
  ValueId as(ValueId x, DataType to) {
    return context_.type(x).element == to
               ? x
               : context_.call("Cast", {x}, {{"to", static_cast<std::int64_t>(to)}});
  }

  std::int64_t columns(std::size_t input) const { return context_.static_dims(context_.input(input))[2]; }

  ValueId first_state() {
    if (context_.has_input(3)) return as(context_.input(3), computed_);
    return context_.builder.constant(filled(computed_, {batch_, heads_, keys_, values_}, 0));
  }

  void add(std::vector<ValueId>& inputs, std::size_t input, Dims per_step) {
    per_step.insert(per_step.begin(), {batch_, steps_});
    inputs.push_back(
        context_.call("Reshape", {as(context_.input(input), computed_), context_.ints(per_step)}));
  }

  Graph body(const std::vector<ValueId>& inputs) const {
    Graph graph;
    Builder builder(graph);
    GradientContext inner(builder, Op{}, {}, {});
    std::vector<Term> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Type type = context_.type(inputs[i]);
      if (i > 0) type.dims.erase(type.dims.begin() + 1);
      given.push_back(term(inner, builder.input(fmt::format("x{}", i), type)));
    }
    std::size_t next = 1;
    const auto take = [&](std::size_t input) {
      return input < 3 || context_.has_input(input) ? given[next++] : given[0];
    };
    const Slices slices{.query = take(0),
                        .key = take(1),
                        .value = take(2),
                        .decay = take(4),
                        .beta = take(5),
                        .erase = take(6)};
    const Term state = written(given[0], slices);
    builder.output(state);
    const auto given_scale = static_cast<double>(attribute<float>(context_.op, "scale"));
    const double scale = given_scale != 0 ? given_scale : 1 / std::sqrt(static_cast<double>(keys_));
    builder.output((slices.query * scale).with("MatMul", state));
    return graph;
  }

  // The state after the step.
  Term written(Term state, const Slices& slices) const {
    if (context_.has_input(4)) state = state * slices.decay.call("Exp");
    Term added = slices.value;
    if (context_.has_input(5)) {
      Term reader = row_of(slices.key);
      if (context_.has_input(6)) reader = reader * slices.erase;
      added = slices.beta * (added - reader.with("MatMul", state));
    }
    return state + slices.key * added;
  }

  GradientContext& context_;
  DataType computed_ = DataType::Float;
  std::int64_t batch_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t q_heads_ = 1;
  std::int64_t heads_ = 1;
  std::int64_t keys_ = 0;
  std::int64_t values_ = 0;
};

}  // namespace

void linear_attention_gradient(GradientContext& context) {
  differentiate_expansion(context, [](GradientContext& inner) { return LinearExpansion(inner).outputs(); });
}

}  // namespace podium::ir
