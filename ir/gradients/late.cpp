// A LateGradient packs another op into itself: its inputs are those of the op's inputs, outputs and flows
// that are there (`places` says which), its attributes are the other op's with kOfAnotherOp in front of their
// names, and `wanted` says of which inputs the gradient is asked. When it runs, Late unpacks them, and the
// other op's builder is called in a graph of its own whose shapes and numbers are then known. Its own
// gradient expands the same way.
#include "ir/gradients/late.h"

#include <algorithm>

#include "ir/bodies.h"
#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/ops/late_gradient.h"
#include "ir/verify.h"

namespace podium::ir {
namespace {

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
    if (context.wants(i)) wanted.push_back(i);
  }
  late.attributes = {{"domain", std::string(op.spec->domain)},
                     {"op", std::string(op.spec->name)},
                     {"inputs", std::ssize(op.inputs)},
                     {"outputs", std::ssize(op.outputs)},
                     {"places", places},
                     {"wanted", wanted}};
  for (const Attribute& one : op.attributes) {
    if (!is_annotation(one.name))
      late.attributes.push_back({fmt::format("{}{}", kOfAnotherOp, one.name), one.value});
  }
  const std::vector<ValueId> gradients = context.builder.append(std::move(late), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    context.set(wanted[i], gradients[i]);
  }
}

std::vector<ValueId> late_gradient_outputs(GradientContext& context) {
  Late late(context.op);
  std::vector<bool> wanted(late.forward.inputs.size(), false);
  for (std::int64_t i : late.wanted) wanted[i] = true;
  GradientContext inner(context.builder, late.forward, late.flowing, std::move(wanted));
  find_gradient (*late.forward.spec)(inner);
  std::vector<ValueId> outputs;
  for (std::int64_t i : late.wanted) {
    const ValueId found = inner.input_gradients[i];
    const ValueId x = late.forward.inputs[i];
    outputs.push_back(found.valid() ? found : context.filled_like(x, 0));
  }
  return outputs;
}

std::span<const GradientRow> late_gradients() {
  static constexpr GradientRow kRows[]{
      {"LateGradient", late_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
