// The gradient of an LSTM whose Y is known. Y has the states before each step, so that one product gives the
// gates of all steps again. LSTMGradient goes back through the steps and gives the gates' gradients dG, of
// which products over all steps make the rest:
//   gates = X W' + H(before) R' + b;   dX = dG W;  dW = dG' X;  dR = dG' H(before);  db = sum of dG
// The derivative of LSTMGradient is that of two Scans, one there and one back, that compute the same.
#include "ir/gradients/lstm.h"

#include <algorithm>
#include <limits>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/lstm_gradient.h"
#include "ir/ops/recurrent.h"

namespace podium::ir {
namespace {

using Ids = std::vector<ValueId>;
using Terms = std::vector<Term>;

Term sum_of(const Terms& parts) {
  return {parts.at(0).builder, parts[0].builder->sum(Ids(parts.begin(), parts.end()))};
}

Term transposed(Term x, IntList order) { return x.call("Transpose", {{"perm", std::move(order)}}); }
Term rows_of(Term x) { return x.call("Flatten", {{"axis", std::int64_t{-1}}}); }

// What one direction contributes; without an axis of directions.
struct Contribution {
  Term x, w, r, b;
  std::vector<ValueId> states;  // of h and c; kNoValue where nobody asks
};

class LstmGradient {
 public:
  explicit LstmGradient(GradientContext& context)
      : context_(context), shape_(recurrent_shape(TypedOp(context.builder.graph(), context.op))) {
    x_ = steps_first(context.input(In::kX));
  }

  void append() {
    std::vector<Contribution> found;
    for (std::int64_t i = 0; i < shape_.directions; ++i) found.push_back(direction(i));
    const auto all = [&](Term Contribution::*part) {
      Terms terms;
      for (const Contribution& one : found) terms.push_back(one.*part);
      return terms;
    };
    const auto in_directions = [&](Terms terms) {
      for (Term& one : terms) one = unsqueezed(one, 0);
      return joined(terms, 0);
    };
    if (context_.wants(In::kX)) context_.set(In::kX, as_laid_out(sum_of(all(&Contribution::x)), {1, 0, 2}));
    if (context_.wants(In::kW)) context_.set(In::kW, in_directions(all(&Contribution::w)));
    if (context_.wants(In::kR)) context_.set(In::kR, in_directions(all(&Contribution::r)));
    if (context_.wants(In::kB)) context_.set(In::kB, in_directions(all(&Contribution::b)));
    for (std::size_t k = 0; k < 2; ++k) {
      if (!context_.wants(kStates[k])) continue;
      Terms states;
      for (const Contribution& one : found) states.push_back(term(context_, one.states[k]));
      context_.set(kStates[k], as_laid_out(in_directions(states), {1, 0, 2}));
    }
  }

 private:
  using In = RecurrentInput;
  static constexpr std::size_t kStates[] = {In::kInitialH, In::kInitialC};

  Term unsqueezed(Term x, std::int64_t axis) { return x.with("Unsqueeze", context_.ints({axis})); }
  Term as_laid_out(Term x, IntList order) { return shape_.batch_first ? transposed(x, std::move(order)) : x; }
  // Y and its gradient become [steps, directions, batch, hidden], states [directions, batch, hidden].
  Term steps_first(ValueId x) {
    return as_laid_out(term(context_, x), context_.rank(x) == 4 ? IntList{1, 2, 0, 3} : IntList{1, 0, 2});
  }
  Term entry(Term of, std::int64_t direction, std::int64_t axis) {
    return parts_of(of, shape_.directions, axis)[direction].with("Squeeze", context_.ints({axis}));
  }
  Term weights(std::size_t input, std::int64_t direction) {
    return entry(term(context_, context_.input(input)), direction, 0);
  }
  // kNoValue where the input, or what flows, is not there.
  ValueId given(ValueId id, std::int64_t direction, std::int64_t axis) {
    return id.valid() ? entry(steps_first(id), direction, axis).id : kNoValue;
  }
  ValueId input_or_none(std::size_t i) const { return context_.has_input(i) ? context_.input(i) : kNoValue; }
  ValueId given_input(std::size_t input, std::int64_t direction) {
    return given(input_or_none(input), direction, 0);
  }
  ValueId given_flow(std::size_t output, std::int64_t direction) {
    const auto& flows = context_.output_gradients;
    return output < flows.size() ? given(flows[output], direction, output == RecurrentOutput::kY ? 1 : 0)
                                 : kNoValue;
  }
  bool is_reverse(std::int64_t direction) const { return direction == 1 || shape_.starts_reverse; }

  Term first_h(std::int64_t direction) {
    const ValueId h = given_input(In::kInitialH, direction);
    if (h.valid()) return term(context_, h);
    const Dims x = context_.static_dims(x_);
    const Dims r = context_.static_dims(context_.input(In::kR));
    return term(context_, context_.builder.constant(filled(context_.type(x_).element, {x[1], r[2]}, 0)));
  }

  // h before each step: what Y has for the step before it, and in front the first state. Y has zeros behind
  // the end of a sequence, where one that is read from its end has its first state.
  Term states_before(std::int64_t direction) {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    const Term y = entry(steps_first(context_.output(RecurrentOutput::kY)), direction, 1);
    const Term first = unsqueezed(first_h(direction), 0);
    const auto steps = [&](std::int64_t from, std::int64_t to) {
      return term(context_, context_.call("Slice", {y, context_.ints({from}), context_.ints({to}),
                                                    context_.ints({0})}));
    };
    if (!is_reverse(direction)) return joined({first, steps(0, -1)}, 0);
    const Term before = joined({steps(1, kEnd), first}, 0);
    if (!context_.has_input(In::kLengths) || !context_.has_input(In::kInitialH)) return before;
    const std::int64_t count = context_.static_dims(x_)[0];
    const Term lengths = term(context_, context_.input(In::kLengths)).cast(DataType::Int64);
    const Term goes_on = counted(context_, {count, 1, 1}, 1) < unsqueezed(lengths, 1);
    return choose(goes_on, before, first);
  }

  Contribution direction(std::int64_t i) {
    const Term w = weights(In::kW, i);
    const Term r = weights(In::kR, i);
    const Term h = states_before(i);
    Term gates = x_.with("MatMul", w.call("Transpose")) + h.with("MatMul", r.call("Transpose"));
    if (context_.has_input(In::kB)) gates = gates + sum_of(parts_of(weights(In::kB, i), 2, 0));
    Ids operands{gates,
                 r,
                 given_flow(RecurrentOutput::kY, i),
                 given_flow(RecurrentOutput::kLastH, i),
                 given_flow(RecurrentOutput::kLastC, i),
                 given_input(In::kInitialC, i),
                 input_or_none(In::kLengths)};
    while (!operands.back().valid()) operands.pop_back();
    const std::string way = is_reverse(i) ? "reverse" : "forward";
    const bool wants_states = context_.wants(In::kInitialH) || context_.wants(In::kInitialC);
    const std::size_t outputs = wants_states ? std::size_t{LstmGradientOutput::kCount} : 1;
    Ids back = context_.builder.ops("podium", "LSTMGradient", operands, outputs, {{"direction", way}});
    back.resize(LstmGradientOutput::kCount, kNoValue);
    const Term flow = term(context_, back[LstmGradientOutput::kGates]);
    return contribution(flow, h, w,
                        {back[LstmGradientOutput::kInitialH], back[LstmGradientOutput::kInitialC]});
  }

  Contribution contribution(Term flow, Term h, Term w, Ids states) {
    Contribution found{.x = flow, .w = flow, .r = flow, .b = flow, .states = std::move(states)};
    if (context_.wants(In::kX)) found.x = flow.with("MatMul", w);
    const Term turned = rows_of(flow).call("Transpose");
    if (context_.wants(In::kW)) found.w = turned.with("MatMul", rows_of(x_));
    if (context_.wants(In::kR)) found.r = turned.with("MatMul", rows_of(h));
    if (!context_.wants(In::kB)) return found;
    const Term sum = flow.with("ReduceSum", context_.ints({0, 1}), {{"keepdims", std::int64_t{0}}});
    found.b = joined({sum, sum}, 0);
    return found;
  }

  GradientContext& context_;
  RecurrentShape shape_;
  Term x_ = {};
};

bool has_usual_activations(const Op& op) {
  const StringList& names = attribute<StringList>(op, "activations");
  constexpr std::string_view kUsual[] = {"Sigmoid", "Tanh", "Tanh"};
  if (names.empty() || names.size() % 3 != 0) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != kUsual[i % 3]) return false;
  }
  return true;
}

// The step of a Scan whose captures come last; `step` gives the states, then what is shown.
using StepFunction = Terms (*)(const Terms& given);

Terms scanned(TermBuilder& context, const Ids& inputs, std::int64_t states, std::int64_t slices,
              std::int64_t way, StepFunction step) {
  Graph graph;
  Builder builder(graph);
  TermBuilder inner(builder);
  Terms given;
  for (std::int64_t i = 0; i < std::ssize(inputs); ++i) {
    const bool is_scanned = i >= states && i < states + slices;
    const Type type = is_scanned ? slice_type(context, inputs[i], 0) : context.type(inputs[i]);
    given.push_back(term(inner, builder.input(fmt::format("x{}", i), type)));
  }
  const Terms results = step(given);
  for (const Term& result : results) builder.output(result.call("Identity"));
  Op scan{.spec = find_op("", "Scan"),
          .inputs = inputs,
          .captures = static_cast<int>(std::ssize(inputs) - states - slices)};
  scan.attributes = {{"body", std::make_shared<const Graph>(std::move(graph))},
                     {"num_scan_inputs", slices},
                     {"scan_input_directions", IntList(slices, way)},
                     {"scan_output_directions", IntList(results.size() - states, way)}};
  Terms found;
  for (ValueId id : context.builder.append(std::move(scan), results.size()))
    found.push_back(term(context, id));
  return found;
}

// Given c, then of the step the activated gates i, f, c' and whether it goes on: c behind it, c before it.
Terms step_there(const Terms& given) {
  const Term c = given[0];
  return {choose(given[4], given[2] * c + given[1] * given[3], c), c};
}

// Given dh and dc, then of the step dY, the gates i, o, f, c', c before it, whether it goes on; captured R.
Terms step_back(const Terms& given) {
  const Term goes_on = given[8];
  const Term input = given[3];
  const Term output = given[4];
  const Term forget = given[5];
  const Term candidate = given[6];
  const Term before = given[7];
  const Term dh = given[0] + given[2];
  const Term tanh_c = (forget * before + input * candidate).call("Tanh");
  const Term into_c = given[1] + dh * output * (1.0 - tanh_c * tanh_c);
  const Term flows =
      joined({into_c * candidate * input * (1.0 - input), dh * tanh_c * output * (1.0 - output),
              into_c * before * forget * (1.0 - forget), into_c * input * (1.0 - candidate * candidate)},
             -1);
  const Term gates = choose(goes_on, flows, 0);
  const Term from_gates = gates.with("MatMul", given[9]);
  return {choose(goes_on, from_gates, given[0]), choose(goes_on, into_c * forget, given[1]), gates};
}

Ids two_scans(GradientContext& context) {
  using In = LstmGradientInput;
  const Dims dims = context.static_dims(context.input(In::kGates));
  const std::int64_t hidden = context.static_dims(context.input(In::kR))[1];
  const std::int64_t way = reads_last_step_first(context.op) ? 1 : 0;
  const auto given_or_zeros = [&](std::size_t input, Dims of) {
    if (context.has_input(input)) return context.input(input);
    return context.builder.constant(filled(context.type(context.input(In::kGates)).element, of, 0));
  };
  const Term gates = term(context, context.input(In::kGates));
  const Terms parts = parts_of(gates, 4, -1);
  const Term input = parts[0].call("Sigmoid");
  const Term output = parts[1].call("Sigmoid");
  const Term forget = parts[2].call("Sigmoid");
  const Term candidate = parts[3].call("Tanh");
  const Term lengths = context.has_input(In::kLengths)
                           ? term(context, context.input(In::kLengths)).cast(DataType::Int64)
                           : term(context, context.ints({dims[0]}));
  const Term goes_on = counted(context, {dims[0], 1, 1}) < lengths.with("Unsqueeze", context.ints({1}));
  const Term every = goes_on.with("Expand", context.ints({dims[0], dims[1], 1}));
  const Ids there{given_or_zeros(In::kInitialC, {dims[1], hidden}), input, forget, candidate, every};
  const Term before = scanned(context, there, 1, 4, way, step_there)[1];
  const Ids back{given_or_zeros(In::kFlowH, {dims[1], hidden}),
                 given_or_zeros(In::kFlowC, {dims[1], hidden}),
                 given_or_zeros(In::kFlowY, {dims[0], dims[1], hidden}),
                 input,
                 output,
                 forget,
                 candidate,
                 before,
                 every,
                 context.input(In::kR)};
  const Terms found = scanned(context, back, 2, 7, 1 - way, step_back);
  return {found[2], found[0], found[1]};
}

void lstm_gradient_gradient(GradientContext& context) { differentiate_expansion(context, two_scans); }

}  // namespace

bool append_lstm_gradient(GradientContext& context) {
  const Op& op = context.op;
  const auto* clip = attribute_if<float>(op, "clip");
  const bool has_y = !op.outputs.empty() && op.outputs[RecurrentOutput::kY].valid();
  if (!has_y || context.has_input(RecurrentInput::kPeepholes) || (clip != nullptr && *clip > 0) ||
      attribute<std::int64_t>(op, "input_forget") != 0 || !has_usual_activations(op))
    return false;
  LstmGradient(context).append();
  return true;
}

std::span<const GradientRow> lstm_gradients() {
  static constexpr GradientRow kRows[]{
      {"LSTMGradient", lstm_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
