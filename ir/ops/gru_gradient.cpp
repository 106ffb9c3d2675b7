#include "ir/ops/gru_gradient.h"

#include "ir/ops/common.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

void infer_gru_gradient(InferContext& context) {
  const DataType element = context.element(GruGradientInput::kGates);
  if (!context.has_rank(GruGradientInput::kGates) || !context.has_rank(GruGradientInput::kR)) {
    for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output_element(i, element);
    return;
  }
  const Dims& gates = context.dims(GruGradientInput::kGates);
  const Dims& r = context.dims(GruGradientInput::kR);
  if (gates.size() != 3 || r.size() != 2 || differ(gates[2], r[0]) || differ(r[0], times(r[1], 3)))
    throw Error("gates are {} and R is {}, [steps, batch, 3 * hidden] and [3 * hidden, hidden] needed",
                to_string(gates), to_string(r));
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set_output(i, element, i == GruGradientOutput::kInitialH ? Dims{gates[1], r[1]} : gates);
}

// The products of each step, and a score of operations for each element of the states.
Work gru_gradient_work(const TypedOp& op) {
  constexpr double kOfState = 40;
  const std::int64_t gates = op.input(GruGradientInput::kGates).element_count();
  if (gates < 0) return {};
  const auto hidden = static_cast<double>(op.dims(GruGradientInput::kR)[1]);
  const auto count = static_cast<double>(gates);
  return {.flop = count * (2 * hidden + kOfState / 3), .bytes = io_bytes(op)};
}

}  // namespace

bool resets_after_product(const Op& op) { return attribute<std::int64_t>(op, "linear_before_reset") != 0; }

OpSpec gru_gradient_row() {
  return {.name = "GRUGradient",
          .domain = "podium",
          .inputs = {{"gates"},
                     {"products"},
                     {"states"},
                     {"R"},
                     {"dY", 'T', Formal::Optional},
                     {"dY_h", 'T', Formal::Optional},
                     {"sequence_lens", 'L', Formal::Optional}},
          .outputs = {{"dgates"}, {"dproducts"}, {"dinitial_h", 'T', Formal::Optional}},
          .types = {{'T', kFloats}, {'L', {DataType::Int32}}},
          .attributes = {with_default("direction", std::string("forward")),
                         with_default("linear_before_reset", std::int64_t{0})},
          .infer = infer_gru_gradient,
          .work = gru_gradient_work,
          .category = Category::Recurrent,
          .in_place = kFirstInput};
}

}  // namespace podium::ir
