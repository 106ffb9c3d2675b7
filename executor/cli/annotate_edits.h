// What `podium annotate` changes in a model file.
#pragma once

#include <vector>

#include "importer/write_model.h"

namespace podium::cli {

/// One edit for each node whose annotations of placement differ from those of `before`, the ops as they were
/// imported. Error when the ops that stand for one node (a call of a function, a node of an older version)
/// differ.
std::vector<importer::NodeEdit> edits_of(const importer::Model& model, const std::vector<ir::Op>& before);

}  // namespace podium::cli
