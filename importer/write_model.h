// Gives a model back as it was read, with some attributes of nodes and some weights changed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "importer/import.h"
#include "importer/sharding.h"

namespace podium::importer {

/// One step of the way to a node: in the main graph first, then, for a node of a body, in the graph that is
/// the attribute `body` of the step before.
struct NodeStep {
  std::variant<std::size_t, std::string> node;  ///< its place in the graph's list of nodes, or its name
  std::string body = {};                        ///< attribute of the node before; empty in the first step
};

/// The changed attributes of one node. An attribute to clear that is not there is no error.
struct NodeEdit {
  std::vector<NodeStep> node;
  std::vector<std::string> clear = {};  ///< names of attributes that go
  std::vector<ir::Attribute> set = {};  ///< attributes that are added or replaced; no bodies
};

struct ModelEdits {
  std::vector<NodeEdit> nodes = {};
  /// Configurations of devices, in place of those of the same names, and what nodes say for them.
  Sharding sharding = {};
  std::set<std::string> dropped = {};  ///< names of configurations that go, with what nodes say for them
  /// New values of initializers, of the type and shape they had.
  std::map<std::string, ir::Tensor> initializers = {};
  /// Initializers that no node reads, in place of those that have such a name already.
  std::map<std::string, ir::Tensor> extra_initializers = {};
  /// Bytes of a model with which extra initializers still go into it; else they are external data.
  std::size_t most_inside = std::size_t{1} << 30;
};

/// Writes a binary model: the one that was read, fields that Podium does not know included, with the edits.
/// External data stay where they are when `path` is in the folder of the model that was read and none of them
/// is replaced or added; otherwise they are written, one tensor after the other, to one file beside it,
/// called `path`.data, or with a number behind that while a model at `path` has data of that name: it stays
/// whole, whenever the program ends, until the new one is in its place, and its data go after that. Error for
/// an edit of a node or initializer that is not there, and for what cannot be written.
void write_model(const Model& model, const std::string& path, const ModelEdits& edits = {});

}  // namespace podium::importer
