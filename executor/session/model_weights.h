// The initializers of a model that are weights, and when they are variables.
#pragma once

#include <string>
#include <vector>

#include "importer/import.h"
#include "ir/training.h"

namespace podium {

/// A constant of floats.
bool is_weight(const ir::Value& value);

/// What is trained where nobody has named it.
struct WeightChoice {
  std::vector<std::string> weights;
  std::vector<std::string> numbers;  ///< what is taken for a number of a formula
};

/// The rule (semantics, section 10.1): initializers of floats are weights. One without dimensions is a weight
/// where it is added to or multiplied with what depends on other weights and has
/// dimensions itself, unless its name is one that exporters make up for numbers of formulas; or where there
/// are no others. One that is only read as the scales or the region of a Resize, or as the values of a
/// OneHot, is none.
WeightChoice choose_weights(const importer::Model& model);

/// Those weights.
std::vector<std::string> weight_names(const importer::Model& model);

/// Every initializer of floats that a node reads.
std::vector<std::string> float_initializers(const importer::Model& model);

/// The graph with the weights of these names as variables that nothing updates yet.
ir::Training with_variables(ir::Graph graph, const std::vector<std::string>& names);

/// Its graph with the variables as constants again: placing by cost counts them.
ir::Graph with_constants(const ir::Training& forward);

}  // namespace podium
