// Reads nodes of older opset versions as ops in their newest meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::importer {

/// A node as the model has it: names resolved, bodies read (their own nodes are adapted already).
struct RawNode {
  std::string domain = {};  ///< "" is ai.onnx
  std::string type = {};
  std::string name = {};
  std::vector<ir::ValueId> inputs = {};  ///< formal inputs, then `captures` captured ones
  std::vector<ir::ValueId> outputs = {};
  std::vector<ir::Attribute> attributes = {};
  int captures = 0;
};

struct AdaptContext {
  ir::Graph& graph;
  std::int64_t version = 1;  ///< of the node's domain in this model
  /// The type of a value as far as it follows from what has been read. Absent: declared types alone.
  std::function<ir::Type(ir::ValueId)> type_of = {};
};

/// Appends the node to graph.ops in its newest meaning, as one op or as several with constants of their own.
/// The node's outputs are values of the graph already. Error when the op is not known, naming the node.
void append_adapted(AdaptContext& context, RawNode node);

}  // namespace podium::importer
