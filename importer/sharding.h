// The multi-device annotations of ONNX's IR version 11: what a model says of the devices that its tensors are
// cut over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "importer/import.h"
#include "ir/sharding_spec.h"

namespace podium::importer {

/// A set of devices that a model is made for.
struct DeviceConfiguration {
  std::string name;
  std::int64_t devices = 0;        ///< how many; their ids are 0, 1, ...
  std::vector<std::string> names;  ///< of the devices; empty, or one each
};

struct ShardedTensor {
  std::string name;  ///< of an input or output of the node, as the node has it
  ir::ShardingSpec spec;
};

/// What a node says for one configuration.
struct NodeSharding {
  /// A node of a function: what it says holds in each call.
  struct InFunction {
    std::string key;   ///< FunctionCall::function
    std::string node;  ///< its name in the function
  };

  std::string node;  ///< its name, behind those of the nodes and functions around it
  std::string configuration;
  bool is_in_main_graph = true;  ///< else its tensors are those of a body or a function
  std::optional<InFunction> function = {};
  std::vector<ShardedTensor> tensors = {};
  std::optional<std::int64_t> stage = {};  ///< of a pipeline
};

struct Sharding {
  std::vector<DeviceConfiguration> configurations;
  std::vector<NodeSharding> nodes;    ///< in the file's order, those of bodies and functions included
  std::vector<std::string> warnings;  ///< what can be read and is likely not meant
};

/// Reads and checks all annotations of the model; none of a model that came from no file. Error names the
/// node and the tensor, what was found and what was needed. What needs shapes is checked where these are
/// known.
Sharding read_sharding(const Model& model);

/// The configuration of that name. Error names those that there are.
const DeviceConfiguration& find_configuration(const Sharding& sharding, const std::string& name);

}  // namespace podium::importer
