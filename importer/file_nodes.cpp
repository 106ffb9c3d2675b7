#include "importer/file_nodes.h"

#include "importer/node_order.h"
#include "importer/source.h"

namespace podium::importer {

std::vector<FileNode> file_nodes(const Model& model) {
  std::vector<FileNode> nodes;
  if (model.source == nullptr) return nodes;
  for (const onnx::NodeProto& node : model.source->proto.graph().node()) {
    nodes.push_back({.name = shown_name(node),
                     .inputs = {node.input().begin(), node.input().end()},
                     .outputs = {node.output().begin(), node.output().end()}});
  }
  return nodes;
}

}  // namespace podium::importer
