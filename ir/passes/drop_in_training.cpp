#include "ir/passes/drop_in_training.h"

#include <algorithm>

#include "ir/bodies.h"

namespace podium::ir {
namespace {

bool is_asked_to_drop(const Op& op) {
  return op.is("Dropout") && std::any_of(op.attributes.begin(), op.attributes.end(),
                                         [](const Attribute& one) { return one.name == kDropsInTraining; });
}

}  // namespace

bool drop_in_training(Graph& graph) {
  constexpr std::size_t kTrainingMode = 2;
  bool changed = false;
  ValueId training = kNoValue;
  for (Op& op : graph.ops) {
    if (has_body(op)) changed |= edit_bodies(op, drop_in_training);
    if (!is_asked_to_drop(op)) continue;
    if (!training.valid())
      training = graph.add_constant(graph.fresh_name("is_training"), Tensor::scalar(true));
    op.inputs.resize(kTrainingMode + 1, kNoValue);
    op.inputs[kTrainingMode] = training;
    std::erase_if(op.attributes, [](const Attribute& one) { return one.name == kDropsInTraining; });
    changed = true;
  }
  return changed;
}

}  // namespace podium::ir
