// The order in which nodes can run.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace podium::importer {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The node's name; an unnamed node is called by its first output.
std::string shown_name(const onnx::NodeProto& node);
/// "node 'name' (Type)", with `prefix` before the name.
std::string describe(const onnx::NodeProto& node, const std::string& prefix = {});

/// Indices of the nodes such that each comes after the nodes whose outputs it, or a body of it, reads. As
/// they stand when that is such an order. Error names the nodes of a circle.
std::vector<int> node_order(const NodeList& nodes);

}  // namespace podium::importer
