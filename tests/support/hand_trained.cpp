#include "tests/support/hand_trained.h"

namespace podium::testing {

ir::ValueId value_named(const ir::Graph& graph, std::string_view name) {
  for (ir::ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  throw InternalError("no value '" + std::string(name) + "'");
}

ir::Training as_training(HandTrained written) {
  ir::Training training{.graph = std::move(written.graph)};
  const auto id = [&](const std::string& name) {
    return name.empty() ? ir::kNoValue : value_named(training.graph, name);
  };
  for (const HandTrained::Variable& one : written.variables) {
    training.variables.push_back(
        {.value = id(one.name), .kind = one.kind, .initial = one.initial, .weight = id(one.weight)});
  }
  for (const HandTrained::Update& one : written.updates) {
    training.updates.push_back({id(one.variable), one.output, one.outer});
  }
  for (const std::string& name : written.reduced) training.reduced.push_back(id(name));
  for (const std::string& name : written.hyper_parameters) {
    training.hyper_parameters.push_back({.value = id(name)});
  }
  return training;
}

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  for (ir::ValueId id : values) names.push_back(graph[id].name);
  return names;
}

std::vector<std::string> variable_names(const ir::Training& training) {
  std::vector<std::string> names;
  for (const ir::Variable& variable : training.variables)
    names.push_back(training.graph[variable.value].name);
  return names;
}

std::vector<std::string> hyper_parameter_names(const ir::Training& training) {
  std::vector<std::string> names;
  for (const ir::HyperParameter& one : training.hyper_parameters) {
    names.push_back(training.graph[one.value].name);
  }
  return names;
}

}  // namespace podium::testing
