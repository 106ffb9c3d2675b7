// The initializers of a model that are weights, and when they are variables.
#pragma once

#include <string>
#include <vector>

#include "importer/import.h"
#include "ir/training.h"

namespace podium {

/// A constant of floats.
bool is_weight(const ir::Value& value);

/// The initializers that are trained where nobody has named them: see TrainingOptions::weights.
std::vector<std::string> weight_names(const importer::Model& model);

/// The graph with the weights of these names as variables that nothing updates yet.
ir::Training with_variables(ir::Graph graph, const std::vector<std::string>& names);

/// Its graph with the variables as constants again: placing by cost counts them.
ir::Graph with_constants(const ir::Training& forward);

}  // namespace podium
