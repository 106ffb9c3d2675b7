// Gradients of a graph given as text, and the same gradients by central differences.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/datum.h"
#include "ir/graph.h"

namespace podium::testing {

using Tensors = std::vector<ir::Datum>;

/// The weight of element i of the first output in the sum that is differentiated.
double weight(std::int64_t i);

/// Numbers from 0.3 to 1.7 in no order, so that logarithms and roots are defined.
ir::Tensor numbers(ir::Dims dims, double phase = 0);

/// The gradients of the weighted sum of the first output with respect to the double inputs.
Tensors gradients(const std::string& text, const Tensors& inputs);

/// The derivatives that have been compared with differences so far: for each row of the table of ops, the
/// inputs by which it was differentiated, and the attributes that were not left at their defaults.
struct CheckedRow {
  std::set<std::size_t> inputs;
  std::set<std::string> attributes;
};
const std::map<const ir::OpSpec*, CheckedRow>& checked_rows();
/// Adds the ops between `xs` and the outputs of a graph whose derivatives have been compared.
void note_checked(const ir::Graph& graph, std::span<const ir::ValueId> xs);

/// Adds the ops of a graph in text that a test compares in another way.
void note_compared(const std::string& text, const Tensors& inputs);

/// Every element within a millionth of the central difference, relative to 1 and its size together.
void expect_gradients_of_differences(const std::string& text, const Tensors& inputs);

}  // namespace podium::testing
