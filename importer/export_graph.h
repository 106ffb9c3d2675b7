// Writes a graph of the IR as an ONNX model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::importer {

struct ExportOptions {
  /// The ai.onnx version written. The ops must mean in it what they mean in the newest.
  int opset = 0;  ///< 0: the highest that any op of the graph needs
  /// Names of symbolic dimensions: input name to one name a dimension ("" where it is a number).
  std::map<std::string, std::vector<std::string>> symbolic = {};
  std::map<std::string, std::string> metadata = {};  ///< of the model, key to value
};

/// Writes to a temporary name, then renames. Weights whose sum passes 1 GiB go to a file beside it, named
/// PATH.data, since a protobuf message cannot be larger than 2 GiB. Error when a file cannot be written.
void export_graph(const ir::Graph& graph, const std::string& path, const ExportOptions& options = {});

/// The key that marks an initializer of which only the type is written (external data without a place).
inline constexpr const char* kDataLeftOut = "podium.data_left_out";

}  // namespace podium::importer
