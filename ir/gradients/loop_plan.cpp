#include "ir/gradients/loop_plan.h"

#include <algorithm>

#include "ir/gradients/differentiate.h"

namespace podium::ir {
namespace {

using Carries = std::vector<bool>;  // per state

void add_starts(std::vector<ValueId>& starts, const std::vector<LoopInput>& inputs) {
  for (const LoopInput& x : inputs) starts.push_back(x.inner);
}

// The states that change smoothly with what is wanted or with states that carry a gradient already.
Carries dependent_states(const Scanning& scan, const LoopPlan& plan, Carries carries) {
  std::vector<ValueId> starts;
  add_starts(starts, plan.slices);
  add_starts(starts, plan.captured);
  for (std::size_t i = 0; i < scan.states; ++i) {
    if (carries[i]) starts.push_back(scan.body.inputs[i]);
  }
  const IdMap<ValueId, bool> depends = dependents(scan.body, starts);
  for (std::size_t i = 0; i < scan.states; ++i) {
    if (depends[scan.body.outputs[i]]) carries[i] = true;
  }
  return carries;
}

// A state may make another one carry in the next iteration.
Carries carrying_states(const GradientContext& context, const Scanning& scan, const LoopPlan& plan) {
  Carries carries;
  for (std::size_t i = 0; i < scan.states; ++i) carries.push_back(context.wants(scan.first_state + i));
  while (true) {
    Carries grown = dependent_states(scan, plan, carries);
    if (grown == carries) return carries;
    carries = std::move(grown);
  }
}

// The captured matrix that a MatMul of the body multiplies rows with; nullptr: the product stays in the loop.
const LoopInput* matrix_of(const GradientContext& context, const Scanning& scan, const LoopPlan& plan,
                           const Op& op) {
  const Type& rows = scan.body[op.inputs[0]].type;
  if (!rows.is_static() || rows.rank() == 0) return nullptr;  // what changes its shape is not stacked
  const auto found = std::find_if(plan.captured.begin(), plan.captured.end(), [&](const LoopInput& matrix) {
    return op.inputs[1] == matrix.inner && context.type(context.input(matrix.input)).rank() == 2;
  });
  return found == plan.captured.end() ? nullptr : &*found;
}

std::string shown(std::string_view what, const std::vector<LoopInput>& inputs, const Graph& body) {
  std::string text;
  for (const LoopInput& x : inputs)
    text += fmt::format("{} {} (input {})\n", what, body[x.inner].name, x.input);
  return text;
}

}  // namespace

LoopPlan plan_loop_gradient(const GradientContext& context, const Scanning& scan) {
  LoopPlan plan;
  const std::size_t first_slice = scan.first_state + scan.states;
  for (std::size_t i = 0; i < scan.slices.size(); ++i) {
    const Port& slice = scan.slices[i];
    if (context.wants(first_slice + i))
      plan.slices.push_back({slice.inner, first_slice + i, slice.axis, slice.direction});
  }
  const std::size_t first_captured = context.op.formal_inputs();
  for (std::size_t i = 0; i < scan.captured.size(); ++i) {
    if (context.wants(first_captured + i))
      plan.captured.push_back({scan.captured[i].inner, first_captured + i});
  }
  const Carries carries = carrying_states(context, scan, plan);
  for (std::size_t i = 0; i < scan.states; ++i) {
    if (carries[i]) plan.carried.push_back({scan.body.inputs[i], scan.first_state + i});
  }
  for (std::size_t i = 0; i < scan.body.ops.size(); ++i) {
    const Op& op = scan.body.ops[i];
    const LoopInput* matrix = op.is("MatMul") ? matrix_of(context, scan, plan, op) : nullptr;
    if (matrix != nullptr) plan.products.push_back({i, op.inputs[0], op.outputs[0], matrix->input});
  }
  return plan;
}

std::string print(const LoopPlan& plan, const Graph& body) {
  std::string text = shown("carries", plan.carried, body) + shown("slices", plan.slices, body) +
                     shown("captures", plan.captured, body);
  for (const LoopProduct& product : plan.products) {
    text += fmt::format("product {} = {} * input {}\n", body[product.result].name, body[product.rows].name,
                        product.input);
  }
  return text;
}

}  // namespace podium::ir
