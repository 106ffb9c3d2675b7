// The nodes of a model's file, as people see them there.
#pragma once

#include <string>
#include <vector>

#include "importer/import.h"

namespace podium::importer {

struct FileNode {
  std::string name;  ///< an unnamed node is called by its first output
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// Those of the main graph; Model::nodes_of_ops has their indices. None of a model that came from no file.
std::vector<FileNode> file_nodes(const Model& model);

}  // namespace podium::importer
