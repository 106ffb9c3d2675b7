// The states of optimizers in a model file: initializers that no node reads, under PopART's names (semantics,
// section 10.5).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotate/partition.h"
#include "executor/session/read_options.h"
#include "ir/optimizer.h"
#include "ir/training.h"

namespace podium {

/// "Accl1___w" is the state "Accl1___" of the weight "w"; "lossScaleUpdateFactor" belongs to no weight.
struct StateName {
  std::string_view state;
  std::string_view weight;
};

/// Nothing for a name that is none of a state, whatever weights there are.
std::optional<StateName> read_state_name(std::string_view name);

/// Float constants that no op reads, by name: states among them.
std::map<std::string, ir::Tensor> unread_constants(const ir::Graph& graph);

/// Of these, the states of the variables of `forward`, or of none.
std::map<ir::StateKey, ir::Tensor> saved_states(const ir::Training& forward,
                                                const std::map<std::string, ir::Tensor>& unread);

/// Adds a note when one of the states has no place in the graph that trains: it was saved by another
/// optimizer, or another form of it.
void note_unused_states(const std::map<std::string, ir::Tensor>& unread, const ir::Training& training,
                        const ir::Optimizer& optimizer, Notes& notes);

/// A variable as a session's user and a model file know it.
struct NamedVariable {
  std::string name;
  ir::VariableKind kind = ir::VariableKind::Weight;
  std::string weight = {};  ///< whose state it is
  std::string state = {};
};

std::vector<NamedVariable> named_variables(const ir::Training& training);

/// The variables with those that are in parts once, under their own names.
std::vector<NamedVariable> with_whole_variables(std::vector<NamedVariable> variables,
                                                std::span<const annotate::CutVariable> cut);

/// Which variables parts are of, by name.
using WholeNames = std::map<std::string_view, std::string_view>;
WholeNames whole_names(std::span<const annotate::CutVariable> cut);
/// The variable that `name` is a part of, else `name`.
std::string whole_name(const std::string& name, const WholeNames& wholes);

}  // namespace podium
