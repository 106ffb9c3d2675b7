#include "ir/ops/late_gradient.h"

#include <algorithm>

#include "ir/ops/common.h"
#include "ir/verify.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

std::size_t count(const Op& op, std::string_view what) { return attribute<std::int64_t>(op, what); }

// The input of the LateGradient that is input i of the op it stands for.
std::size_t where_input_is(const Op& op, std::int64_t i) {
  const IntList& places = attribute<IntList>(op, "places");
  return std::find(places.begin(), places.end(), i) - places.begin();
}

void infer_late_gradient(InferContext& context) {
  const IntList& wanted = context.get<IntList>("wanted");
  for (std::size_t i = 0; i < wanted.size(); ++i)
    context.set_output(i, context.input(where_input_is(context.op, wanted[i])));
}

// A gradient computes about as much for each input as the op itself.
Work work_of_late(const TypedOp& op) {
  const Late late(op.op);
  TypedOp forward(late.forward);
  forward.input_types.resize(late.forward.inputs.size());
  forward.constants.resize(late.forward.inputs.size());
  forward.output_types.resize(late.forward.outputs.size());
  const IntList& places = op.get<IntList>("places");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t place = places[i];
    if (place < forward.input_types.size()) {
      forward.input_types[place] = op.input(i);
      forward.constants[place] = op.constant(i);
    } else if (place - forward.input_types.size() < forward.output_types.size()) {
      forward.output_types[place - forward.input_types.size()] = op.input(i);
    }
  }
  return {.flop = work_of(forward).flop * static_cast<double>(late.wanted.size()), .bytes = io_bytes(op)};
}

}  // namespace

Late::Late(const Op& op)
    : forward{.spec = find_op(attribute<std::string>(op, "domain"), attribute<std::string>(op, "op"))},
      wanted(attribute<IntList>(op, "wanted")) {
  const IntList& places = attribute<IntList>(op, "places");
  std::vector<ValueId> all(count(op, "inputs") + 2 * count(op, "outputs"));
  for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = op.inputs[i];
  const auto first_output = all.begin() + attribute<std::int64_t>(op, "inputs");
  const auto first_flow = first_output + attribute<std::int64_t>(op, "outputs");
  forward.inputs.assign(all.begin(), first_output);
  forward.outputs.assign(first_output, first_flow);
  flowing.assign(first_flow, all.end());
  for (const Attribute& one : op.attributes) {
    if (one.name.starts_with(kOfAnotherOp))
      forward.attributes.push_back({one.name.text().substr(kOfAnotherOp.size()), one.value});
  }
}

bool is_late_number(const TypedOp& op, std::size_t i) {
  const bool is_input = op.get<IntList>("places")[i] < op.get_int("inputs");
  return is_input && (op.element(i) == DataType::Int64 || op.element(i) == DataType::Int32);
}

OpSpec late_gradient_row() {
  return {.name = "LateGradient",
          .domain = "podium",
          .inputs = {{"inputs_outputs_and_flows", 'V', Formal::Variadic, true}},
          .outputs = {{"gradients", 'V', Formal::Variadic, true}},
          .types = {{'V', {}, true}},
          .attributes = {must_have("domain", AttributeKind::String), must_have("op", AttributeKind::String),
                         must_have("inputs", AttributeKind::Int), must_have("outputs", AttributeKind::Int),
                         must_have("places", AttributeKind::Ints), must_have("wanted", AttributeKind::Ints)},
          .infer = infer_late_gradient,
          .work = work_of_late};
}

}  // namespace podium::ir
