#include "ir/ops/rnn_gradient.h"

#include "ir/ops/common.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

void infer_rnn_gradient(InferContext& context) {
  const DataType element = context.element(RnnGradientInput::kStates);
  if (!context.has_rank(RnnGradientInput::kStates) || !context.has_rank(RnnGradientInput::kR)) {
    for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output_element(i, element);
    return;
  }
  const Dims& states = context.dims(RnnGradientInput::kStates);
  const Dims& r = context.dims(RnnGradientInput::kR);
  if (states.size() != 3 || r.size() != 2 || differ(states[2], r[0]) || differ(r[0], r[1]))
    throw Error("states are {} and R is {}, [steps, batch, hidden] and [hidden, hidden] needed",
                to_string(states), to_string(r));
  context.set_output(RnnGradientOutput::kGates, element, states);
  if (context.output_count() > RnnGradientOutput::kInitialH)
    context.set_output(RnnGradientOutput::kInitialH, element, {states[1], states[2]});
}

// The product of each step, and some operations for each element of the states.
Work rnn_gradient_work(const TypedOp& op) {
  constexpr double kOfState = 4;
  const std::int64_t states = op.input(RnnGradientInput::kStates).element_count();
  if (states < 0) return {};
  const auto hidden = static_cast<double>(op.dims(RnnGradientInput::kR)[1]);
  return {.flop = static_cast<double>(states) * (2 * hidden + kOfState), .bytes = io_bytes(op)};
}

}  // namespace

RnnSlope slope_of(const Op& op) {
  const auto& activation = attribute<std::string>(op, "activation");
  if (activation == "Tanh") return RnnSlope::OfTanh;
  if (activation == "Relu") return RnnSlope::OfRelu;
  if (activation == "Sigmoid") return RnnSlope::OfSigmoid;
  throw Error("activation is {}, Tanh, Relu or Sigmoid needed", activation);
}

OpSpec rnn_gradient_row() {
  return {.name = "RNNGradient",
          .domain = "podium",
          .inputs = {{"states"},
                     {"R"},
                     {"dY", 'T', Formal::Optional},
                     {"dY_h", 'T', Formal::Optional},
                     {"sequence_lens", 'L', Formal::Optional}},
          .outputs = {{"dgates"}, {"dinitial_h", 'T', Formal::Optional}},
          .types = {{'T', kFloats}, {'L', {DataType::Int32}}},
          .attributes = {with_default("direction", std::string("forward")),
                         with_default("activation", std::string("Tanh"))},
          .infer = infer_rnn_gradient,
          .work = rnn_gradient_work,
          .category = Category::Recurrent};
}

}  // namespace podium::ir
