// What a graph gives, as equations: for tests of passes that append some.
#pragma once

#include <string>

#include "ir/graph.h"

namespace podium::testing {

/// The way to a value as nested calls, down to values that have a name of their own:
/// "Sub(w, Mul(Gradient___w, 0.1))". A constant of one element is its number.
std::string equation_of(const ir::Graph& graph, ir::ValueId id);

/// That of the value of this name; "" when there is none.
std::string equation_of(const ir::Graph& graph, const std::string& name);

/// A line for each output behind the first `known`; "outer: " before what is made once for all micro-batches.
std::string equations_of(const ir::Graph& graph, std::size_t known);

}  // namespace podium::testing
