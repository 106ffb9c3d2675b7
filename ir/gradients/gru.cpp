// The gradient of a GRU whose Y is known, which has h before each step. Products of all steps with X and with
// h make the gates again, GRUGradient goes back through the steps and gives the gates' gradients, of which
// products over all steps make the rest (recurrence_gradient.h). Where the gate r resets h before its product
// with R, that product is with r h, for which r is made again, too. Where it scales the product, what flows
// into that differs from what flows into the gate, and W and R have gradients of two tensors.
// The derivative of GRUGradient is that of a Scan over the steps that computes the same.
#include "ir/gradients/gru.h"

#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/recurrence_gradient.h"
#include "ir/gradients/terms.h"
#include "ir/ops/gru_gradient.h"
#include "ir/ops/recurrent.h"

namespace podium::ir {
namespace {

using Ids = std::vector<ValueId>;
using Terms = std::vector<Term>;

// The first two thirds along an axis, those of z and r, and the last one.
struct Thirds {
  Term z_and_r;
  Term candidate;
};

Thirds thirds_of(Term whole, std::int64_t axis) {
  const Terms parts = parts_of(whole, 3, axis);
  return {joined({parts[0], parts[1]}, axis), parts[2]};
}

// The products with X and with h, with the biases of W and of R, and what the last third of the second is
// the product of.
struct Gates {
  Term of_x;
  Term of_h;
  Term into_candidate;
};

Gates gates_of(GradientContext& context, RecurrenceGradient& recurrence, std::int64_t i, Term h, Term r) {
  using In = RecurrentInput;
  Term of_x = recurrence.x().with("MatMul", recurrence.weights(In::kW, i).call("Transpose"));
  Terms biases;
  if (context.has_input(In::kB)) {
    biases = parts_of(recurrence.weights(In::kB, i), 2, 0);
    of_x = of_x + biases[0];
  }
  if (resets_after_product(context.op)) {
    const Term of_h = h.with("MatMul", r.call("Transpose"));
    return {of_x, biases.empty() ? of_h : of_h + biases[1], h};
  }
  if (!biases.empty()) of_x = of_x + biases[1];
  const Thirds rows = thirds_of(r, 0);
  const Term first = h.with("MatMul", rows.z_and_r.call("Transpose"));
  const Term reset = (parts_of(of_x, 3, -1)[1] + parts_of(first, 2, -1)[1]).call("Sigmoid");
  const Term into_candidate = reset * h;
  const Term last = into_candidate.with("MatMul", rows.candidate.call("Transpose"));
  return {of_x, joined({first, last}, -1), into_candidate};
}

RecurrenceGradient::Contribution gru_direction(GradientContext& context, RecurrenceGradient& recurrence,
                                               std::int64_t i) {
  const Term h = recurrence.states_before(i);
  const Term r = recurrence.weights(RecurrentInput::kR, i);
  const Gates gates = gates_of(context, recurrence, i, h, r);
  const bool resets_after = resets_after_product(context.op);
  Ids operands{gates.of_x,
               gates.of_h,
               h,
               r,
               recurrence.given_flow(RecurrentOutput::kY, i),
               recurrence.given_flow(RecurrentOutput::kLastH, i),
               recurrence.given_lengths()};
  while (!operands.back().valid()) operands.pop_back();
  const std::size_t outputs = GruGradientOutput::kCount;
  const Ids back = context.builder.ops(
      "podium", "GRUGradient", operands, outputs,
      {{"direction", recurrence.way_of(i)}, {"linear_before_reset", std::int64_t{resets_after ? 1 : 0}}});
  const Term of_x = term(context, back[GruGradientOutput::kGates]);
  const Term of_h = term(context, back[GruGradientOutput::kProducts]);
  RecurrenceGradient::Contribution found = recurrence.contribution(
      i, {.of_x = of_x, .of_h = of_h, .h = h}, {back[GruGradientOutput::kInitialH], kNoValue});
  if (resets_after || !context.wants(RecurrentInput::kR)) return found;
  const Thirds flows = thirds_of(of_h, -1);
  const auto product = [](Term flow, Term state) {
    return RecurrenceGradient::turned_rows(flow).with("MatMul", RecurrenceGradient::rows_of(state));
  };
  found.r = joined({product(flows.z_and_r, h), product(flows.candidate, gates.into_candidate)}, 0);
  return found;
}

struct StepBack {
  Term z, candidate, h;  // of the step, h before it
  Term dh;               // behind it
};

struct GateGradients {
  Term z, candidate, h;  // h: past the products
};

GateGradients through_gates(const StepBack& at) {
  return {at.dh * (at.h - at.candidate) * at.z * (1.0 - at.z),
          at.dh * (1.0 - at.z) * (1.0 - at.candidate * at.candidate), at.dh * at.z};
}

// Given dh, then of the step dY, z, r, h', the product with R that r scales, h and whether it goes on;
// captured R.
Terms step_that_resets_after(const Terms& given) {
  const Term goes_on = given[7];
  const Term r = given[3];
  const GateGradients into =
      through_gates({.z = given[2], .candidate = given[4], .h = given[6], .dh = given[0] + given[1]});
  const Term into_r = into.candidate * given[5] * r * (1.0 - r);
  const Term gates = choose(goes_on, joined({into.z, into_r, into.candidate}, -1), 0);
  const Term products = choose(goes_on, joined({into.z, into_r, into.candidate * r}, -1), 0);
  return {choose(goes_on, into.h + products.with("MatMul", given[8]), given[0]), gates, products};
}

Terms step_that_resets_before(const Terms& given) {
  const Term goes_on = given[7];
  const Term r = given[3];
  const Term h = given[6];
  const GateGradients into =
      through_gates({.z = given[2], .candidate = given[4], .h = h, .dh = given[0] + given[1]});
  const Thirds rows = thirds_of(given[8], 0);
  const Term into_reset = into.candidate.with("MatMul", rows.candidate);
  const Term z_and_r = joined({into.z, into_reset * h * r * (1.0 - r)}, -1);
  const Term gates = choose(goes_on, joined({z_and_r, into.candidate}, -1), 0);
  const Term before = into.h + into_reset * r + z_and_r.with("MatMul", rows.z_and_r);
  return {choose(goes_on, before, given[0]), gates, gates.call("Identity")};
}

Ids scan_back(GradientContext& context) {
  using In = GruGradientInput;
  const Dims dims = context.static_dims(context.input(In::kStates));
  const bool resets_after = resets_after_product(context.op);
  const Terms of_x = parts_of(term(context, context.input(In::kGates)), 3, -1);
  const Terms of_h = parts_of(term(context, context.input(In::kProducts)), 3, -1);
  const Term z = (of_x[0] + of_h[0]).call("Sigmoid");
  const Term r = (of_x[1] + of_h[1]).call("Sigmoid");
  const Term candidate = (of_x[2] + (resets_after ? r * of_h[2] : of_h[2])).call("Tanh");
  const Ids inputs{given_or_zeros(context, In::kFlowH, {dims[1], dims[2]}),
                   given_or_zeros(context, In::kFlowY, dims),
                   z,
                   r,
                   candidate,
                   of_h[2],
                   context.input(In::kStates),
                   steps_that_go_on(context, dims, In::kLengths),
                   context.input(In::kR)};
  const Terms found = scanned(context, inputs, 1, 7, reads_last_step_first(context.op) ? 0 : 1,
                              resets_after ? step_that_resets_after : step_that_resets_before);
  return {found[1], found[2], found[0]};
}

void gru_gradient_gradient(GradientContext& context) { differentiate_expansion(context, scan_back); }

}  // namespace

bool has_gru_gradient(const Op& op) { return has_usual_steps(op, {"Sigmoid", "Tanh"}); }

void append_gru_gradient(GradientContext& context) {
  RecurrenceGradient recurrence(context);
  recurrence.append([&](std::int64_t i) { return gru_direction(context, recurrence, i); });
}

std::span<const GradientRow> gru_gradients() {
  static constexpr GradientRow kRows[]{
      {"GRUGradient", gru_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
