// A graph that trains, written by hand: what a Training says of values is given by their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/training.h"

namespace podium::testing {

struct HandTrained {
  struct Variable {
    std::string name;
    ir::VariableKind kind;
    ir::Tensor initial;
    std::string weight = "";
  };
  struct Update {
    std::string variable;
    std::size_t output;
    bool outer = false;
  };

  ir::Graph graph;
  std::vector<Variable> variables = {};
  std::vector<Update> updates = {};
  std::vector<std::string> reduced = {};
  std::vector<std::string> hyper_parameters = {};
};

ir::Training as_training(HandTrained written);

/// The first value of a name.
ir::ValueId value_named(const ir::Graph& graph, std::string_view name);
/// The names of values, and of the variables of a Training.
std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values);
std::vector<std::string> variable_names(const ir::Training& training);
std::vector<std::string> hyper_parameter_names(const ir::Training& training);

}  // namespace podium::testing
