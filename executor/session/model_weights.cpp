#include "executor/session/model_weights.h"

#include <set>

#include "ir/passes/make_training.h"

namespace podium {

bool is_weight(const ir::Value& value) {
  return (value.constant || value.data_left_out) && value.type.is_tensor() &&
         ir::is_float(value.type.element);
}

std::vector<std::string> weight_names(const importer::Model& model) {
  const ir::Graph& graph = model.graph;
  const std::map<std::string, ir::Type> known = importer::initializer_types(model);
  const auto uses = use_counts(graph);
  std::vector<std::string> scalars;
  std::vector<std::string> others;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph[id];
    if (uses[id] == 0 || !is_weight(value)) continue;
    if (model.source != nullptr && !known.contains(value.name)) continue;
    (value.type.rank() == 0 ? scalars : others).push_back(value.name);
  }
  return others.empty() ? scalars : others;
}

ir::Training with_variables(ir::Graph graph, const std::vector<std::string>& names) {
  std::vector<ir::Variable> weights = ir::take_weights(graph, names);
  return {.graph = std::move(graph), .variables = std::move(weights)};
}

ir::Graph with_constants(const ir::Training& forward) {
  ir::Graph graph = forward.graph;
  std::set<ir::ValueId> constants;
  for (const ir::Variable& weight : forward.variables) {
    constants.insert(weight.value);
    if (weight.initial.defined()) graph[weight.value].constant = weight.initial;
    graph[weight.value].data_left_out = !weight.initial.defined();
  }
  std::erase_if(graph.inputs, [&](ir::ValueId id) { return constants.contains(id); });
  return graph;
}

}  // namespace podium
