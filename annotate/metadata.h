// What a model says of its inputs and variables beside its nodes (semantics, section 1.2).
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "ir/placement.h"

namespace podium::annotate {

/// The model's metadata, key to value.
using Metadata = std::map<std::string, std::string>;

struct TensorSettings {
  std::map<std::string, ir::InputPlacement> inputs = {};
  std::map<std::string, ir::ReplicaGroup> variable_groups = {};
};

/// Keys that say nothing of placement are passed over. Error names the key whose value is none.
TensorSettings read_metadata(const Metadata& metadata);
/// What read_metadata reads as these settings.
Metadata write_metadata(const TensorSettings& settings);
/// The same without groups of variables.
Metadata without_variable_groups(Metadata metadata);
/// Error for a setting of an input or initializer that the graph, as imported, does not have.
void check_settings(const ir::Graph& graph, const TensorSettings& settings);

}  // namespace podium::annotate
