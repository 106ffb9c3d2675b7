// The gradient of an RNN whose Y is known: how steep the activation of a step was follows from its result, so
// that no gate is made again. RNNGradient goes back through the steps; products over all steps make the rest
// (recurrence_gradient.h). Its derivative is that of a Scan over the steps that computes the same.
#include "ir/gradients/rnn.h"

#include <algorithm>
#include <array>

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/recurrence_gradient.h"
#include "ir/gradients/terms.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/rnn_gradient.h"

namespace podium::ir {
namespace {

using Ids = std::vector<ValueId>;
using Terms = std::vector<Term>;

std::string activation_of(const Op& op, std::int64_t direction) {
  const StringList& names = attribute<StringList>(op, "activations");
  return names.size() == 1 ? names[0] : names.at(direction);
}

RecurrenceGradient::Contribution rnn_direction(GradientContext& context, RecurrenceGradient& recurrence,
                                               std::int64_t i) {
  Ids operands{recurrence.states_behind(i), recurrence.weights(RecurrentInput::kR, i),
               recurrence.given_flow(RecurrentOutput::kY, i),
               recurrence.given_flow(RecurrentOutput::kLastH, i), recurrence.given_lengths()};
  while (!operands.back().valid()) operands.pop_back();
  const std::size_t outputs = RnnGradientOutput::kCount;
  const Ids back = context.builder.ops(
      "podium", "RNNGradient", operands, outputs,
      {{"direction", recurrence.way_of(i)}, {"activation", activation_of(context.op, i)}});
  const Term flow = term(context, back[RnnGradientOutput::kGates]);
  return recurrence.contribution(i, {.of_x = flow, .of_h = flow, .h = recurrence.states_before(i)},
                                 {back[RnnGradientOutput::kInitialH], kNoValue});
}

// How steep an activation is where it gave y.
Term slope_at(const Op& op, Term y) {
  switch (slope_of(op)) {
    case RnnSlope::OfTanh:
      return 1.0 - y * y;
    case RnnSlope::OfRelu:
      return (y > 0.0).cast(y.builder->type(y).element);
    case RnnSlope::OfSigmoid:
      return y * (1.0 - y);
  }
  throw InternalError("an activation that is none");
}

// Given dh, then of the step dY, the slope and whether it goes on; captured R.
Terms step_back(const Terms& given) {
  const Term gates = choose(given[3], (given[0] + given[1]) * given[2], 0);
  return {choose(given[3], gates.with("MatMul", given[4]), given[0]), gates};
}

Ids scan_back(GradientContext& context) {
  using In = RnnGradientInput;
  const Dims dims = context.static_dims(context.input(In::kStates));
  const Ids inputs{given_or_zeros(context, In::kFlowH, {dims[1], dims[2]}),
                   given_or_zeros(context, In::kFlowY, dims),
                   slope_at(context.op, term(context, context.input(In::kStates))),
                   steps_that_go_on(context, dims, In::kLengths), context.input(In::kR)};
  const Terms found = scanned(context, inputs, 1, 3, reads_last_step_first(context.op) ? 0 : 1, step_back);
  return {found[1], found[0]};
}

void rnn_gradient_gradient(GradientContext& context) { differentiate_expansion(context, scan_back); }

}  // namespace

bool has_rnn_gradient(const Op& op) {
  constexpr std::array<std::string_view, 3> kTold{"Tanh", "Relu", "Sigmoid"};
  const StringList& names = attribute<StringList>(op, "activations");
  const bool are_told = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(kTold.begin(), kTold.end(), name) != kTold.end();
  });
  return are_told && has_usual_steps(op, names);
}

void append_rnn_gradient(GradientContext& context) {
  RecurrenceGradient recurrence(context);
  recurrence.append([&](std::int64_t i) { return rnn_direction(context, recurrence, i); });
}

std::span<const GradientRow> rnn_gradients() {
  static constexpr GradientRow kRows[]{
      {"RNNGradient", rnn_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
