// The gradient of an LSTM whose Y is known. Y has the states before each step, so that one product gives the
// gates of all steps again. LSTMGradient goes back through the steps and gives the gates' gradients dG, of
// which products over all steps make the rest:
//   gates = X W' + H(before) R' + b;   dX = dG W;  dW = dG' X;  dR = dG' H(before);  db = sum of dG
// The derivative of LSTMGradient is that of two Scans, one there and one back, that compute the same.
#include "ir/gradients/lstm.h"

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/recurrence_gradient.h"
#include "ir/gradients/terms.h"
#include "ir/ops/lstm_gradient.h"
#include "ir/ops/recurrent.h"

namespace podium::ir {
namespace {

using Ids = std::vector<ValueId>;
using Terms = std::vector<Term>;

RecurrenceGradient::Contribution lstm_direction(GradientContext& context, RecurrenceGradient& recurrence,
                                                std::int64_t i) {
  using In = RecurrentInput;
  const Term r = recurrence.weights(In::kR, i);
  const Term h = recurrence.states_before(i);
  Term gates = recurrence.x().with("MatMul", recurrence.weights(In::kW, i).call("Transpose")) +
               h.with("MatMul", r.call("Transpose"));
  if (context.has_input(In::kB)) {
    const Terms biases = parts_of(recurrence.weights(In::kB, i), 2, 0);
    gates = gates + (biases[0] + biases[1]);
  }
  Ids operands{gates,
               r,
               recurrence.given_flow(RecurrentOutput::kY, i),
               recurrence.given_flow(RecurrentOutput::kLastH, i),
               recurrence.given_flow(RecurrentOutput::kLastC, i),
               recurrence.given_input(In::kInitialC, i),
               recurrence.given_lengths()};
  while (!operands.back().valid()) operands.pop_back();
  const std::size_t outputs = recurrence.wants_states() ? std::size_t{LstmGradientOutput::kCount} : 1;
  Ids back =
      context.builder.ops("podium", "LSTMGradient", operands, outputs, {{"direction", recurrence.way_of(i)}});
  back.resize(LstmGradientOutput::kCount, kNoValue);
  const Term flow = term(context, back[LstmGradientOutput::kGates]);
  return recurrence.contribution(i, {.of_x = flow, .of_h = flow, .h = h},
                                 {back[LstmGradientOutput::kInitialH], back[LstmGradientOutput::kInitialC]});
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
  const Term gates = term(context, context.input(In::kGates));
  const Terms parts = parts_of(gates, 4, -1);
  const Term input = parts[0].call("Sigmoid");
  const Term output = parts[1].call("Sigmoid");
  const Term forget = parts[2].call("Sigmoid");
  const Term candidate = parts[3].call("Tanh");
  const ValueId every = steps_that_go_on(context, dims, In::kLengths);
  const Ids there{given_or_zeros(context, In::kInitialC, {dims[1], hidden}), input, forget, candidate, every};
  const Term before = scanned(context, there, 1, 4, way, step_there)[1];
  const Ids back{given_or_zeros(context, In::kFlowH, {dims[1], hidden}),
                 given_or_zeros(context, In::kFlowC, {dims[1], hidden}),
                 given_or_zeros(context, In::kFlowY, {dims[0], dims[1], hidden}),
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

bool has_lstm_gradient(const Op& op) {
  const bool has_peepholes =
      op.inputs.size() > RecurrentInput::kPeepholes && op.inputs[RecurrentInput::kPeepholes].valid();
  return !has_peepholes && attribute<std::int64_t>(op, "input_forget") == 0 &&
         has_usual_steps(op, {"Sigmoid", "Tanh", "Tanh"});
}

void append_lstm_gradient(GradientContext& context) {
  RecurrenceGradient recurrence(context);
  recurrence.append([&](std::int64_t i) { return lstm_direction(context, recurrence, i); });
}

std::span<const GradientRow> lstm_gradients() {
  static constexpr GradientRow kRows[]{
      {"LSTMGradient", lstm_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
