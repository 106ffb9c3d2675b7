#include "ir/ops/lstm_gradient.h"

#include "ir/ops/common.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

void infer_lstm_gradient(InferContext& context) {
  const DataType element = context.element(LstmGradientInput::kGates);
  if (!context.has_rank(LstmGradientInput::kGates) || !context.has_rank(LstmGradientInput::kR)) {
    for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output_element(i, element);
    return;
  }
  const Dims& gates = context.dims(LstmGradientInput::kGates);
  const Dims& r = context.dims(LstmGradientInput::kR);
  if (gates.size() != 3 || r.size() != 2 || differ(gates[2], r[0]) || differ(r[0], times(r[1], 4)))
    throw Error("gates are {} and R is {}, [steps, batch, 4 * hidden] and [4 * hidden, hidden] needed",
                to_string(gates), to_string(r));
  context.set_output(LstmGradientOutput::kGates, element, gates);
  for (std::size_t i = LstmGradientOutput::kInitialH; i < context.output_count(); ++i)
    context.set_output(i, element, {gates[1], r[1]});
}

// The product of each step, and a score of operations for each element of the states.
Work lstm_gradient_work(const TypedOp& op) {
  constexpr double kOfState = 40;
  const std::int64_t gates = op.input(LstmGradientInput::kGates).element_count();
  if (gates < 0) return {};
  const auto hidden = static_cast<double>(op.dims(LstmGradientInput::kR)[1]);
  const auto count = static_cast<double>(gates);
  return {.flop = count * (2 * hidden + kOfState / 4), .bytes = io_bytes(op)};
}

}  // namespace

OpSpec lstm_gradient_row() {
  return {
      .name = "LSTMGradient",
      .domain = "podium",
      .inputs = {{"gates"},
                 {"R"},
                 {"dY", 'T', Formal::Optional},
                 {"dY_h", 'T', Formal::Optional},
                 {"dY_c", 'T', Formal::Optional},
                 {"initial_c", 'T', Formal::Optional},
                 {"sequence_lens", 'L', Formal::Optional}},
      .outputs = {{"dgates"}, {"dinitial_h", 'T', Formal::Optional}, {"dinitial_c", 'T', Formal::Optional}},
      .types = {{'T', kFloats}, {'L', {DataType::Int32}}},
      .attributes = {with_default("direction", std::string("forward"))},
      .infer = infer_lstm_gradient,
      .work = lstm_gradient_work,
      .category = Category::Recurrent,
      .in_place = kFirstInput};
}

}  // namespace podium::ir
