// The settings of inputs and variables in a model's metadata (semantics, section 1.2).
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

/// Reads the settings. Keys of other meaning are skipped. Error names a key whose value cannot be read.
TensorSettings read_metadata(const Metadata& metadata);
/// Writes settings as metadata, in the form that read_metadata reads.
Metadata write_metadata(const TensorSettings& settings);
/// The metadata without its groups of variables.
Metadata without_variable_groups(Metadata metadata);
/// Error for a setting of an input or initializer that the graph, as imported, does not have.
void check_settings(const ir::Graph& graph, const TensorSettings& settings);

}  // namespace podium::annotate
