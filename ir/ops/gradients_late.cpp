// A LateGradient packs another op into itself: its inputs are those of the op's inputs, outputs and flows
// that are there (`places` says which), its attributes are the other op's with kOfAnotherOp in front of their
// names, and `wanted` says of which inputs the gradient is asked. When it runs, Late unpacks them, and the
// other op's builder is called in a graph of its own whose shapes and numbers are then known. Its own
// gradient expands the same way.
#include "ir/ops/gradients_late.h"

#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/gradients_expanded.h"
#include "ir/passes/bodies.h"
#include "ir/verify.h"
#include "ir/work.h"

namespace podium::ir {
namespace {

// A LateGradient taken apart. Its inputs are the inputs, outputs and output gradients of the other op, as far
// as they are there; `places` says which. The names of the other op's attributes have kOfAnotherOp in front,
// since that op may be a LateGradient itself.
struct Late {
  Op forward;
  std::vector<ValueId> flowing;
  IntList wanted;

  explicit Late(const Op& op)
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
        forward.attributes.push_back({one.name.substr(kOfAnotherOp.size()), one.value});
    }
  }

  static std::size_t count(const Op& op, std::string_view what) {
    return static_cast<std::size_t>(attribute<std::int64_t>(op, what));
  }
};

// The input of the LateGradient that is input i of the op it stands for.
std::size_t where_input_is(const Op& op, std::int64_t i) {
  const IntList& places = attribute<IntList>(op, "places");
  return static_cast<std::size_t>(std::find(places.begin(), places.end(), i) - places.begin());
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
    const auto place = static_cast<std::size_t>(places[i]);
    if (place < forward.input_types.size()) {
      forward.input_types[place] = op.input(i);
      forward.constants[place] = op.constant(i);
    } else if (place - forward.input_types.size() < forward.output_types.size()) {
      forward.output_types[place - forward.input_types.size()] = op.input(i);
    }
  }
  return {.flop = work_of(forward).flop * static_cast<double>(late.wanted.size()), .bytes = io_bytes(op)};
}

void late_gradient_gradient(GradientContext& context) {
  differentiate_expansion(context, late_gradient_outputs);
}

}  // namespace

bool can_be_late(const GradientContext& context) {
  const auto is_tensor = [&](ValueId id) { return !id.valid() || context.type(id).is_tensor(); };
  return !has_body(context.op) &&
         std::all_of(context.op.inputs.begin(), context.op.inputs.end(), is_tensor) &&
         std::all_of(context.op.outputs.begin(), context.op.outputs.end(), is_tensor);
}

void append_late_gradient(GradientContext& context) {
  const Op& op = context.op;
  Op late{.spec = find_op("podium", "LateGradient"), .name = op.name};  // errors name the op
  if (late.name.empty()) late.name = context.builder.graph()[op.outputs[0]].name;
  IntList places;
  std::int64_t place = 0;
  for (const auto& some : {op.inputs, op.outputs, context.output_gradients}) {
    for (ValueId id : some) {
      if (id.valid()) {
        late.inputs.push_back(id);
        places.push_back(place);
      }
      ++place;
    }
  }
  IntList wanted;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (context.wants(i)) wanted.push_back(static_cast<std::int64_t>(i));
  }
  late.attributes = {{"domain", std::string(op.spec->domain)},
                     {"op", std::string(op.spec->name)},
                     {"inputs", std::ssize(op.inputs)},
                     {"outputs", std::ssize(op.outputs)},
                     {"places", places},
                     {"wanted", wanted}};
  for (const Attribute& one : op.attributes) {
    if (!is_annotation(one.name))
      late.attributes.push_back({std::string(kOfAnotherOp) + one.name, one.value});
  }
  const std::vector<ValueId> gradients = context.builder.append(std::move(late), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    context.set(static_cast<std::size_t>(wanted[i]), gradients[i]);
  }
}

std::vector<ValueId> late_gradient_outputs(GradientContext& context) {
  Late late(context.op);
  std::vector<bool> wanted(late.forward.inputs.size(), false);
  for (std::int64_t i : late.wanted) wanted[i] = true;
  GradientContext inner(context.builder, late.forward, late.flowing, std::move(wanted));
  late.forward.spec->gradient(inner);
  std::vector<ValueId> outputs;
  for (std::int64_t i : late.wanted) {
    const ValueId found = inner.input_gradients[i];
    const ValueId x = late.forward.inputs[i];
    outputs.push_back(found.valid() ? found : context.filled_like(x, 0));
  }
  return outputs;
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
          .work = work_of_late,
          .gradient = late_gradient_gradient};
}

}  // namespace podium::ir
