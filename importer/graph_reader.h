// GraphProto to ir::Graph, bodies included.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "importer/import.h"
#include "importer/tensor_proto.h"

namespace podium::importer {

/// What every graph of a model shares while it is read.
struct ReadContext {
  const ImportOptions& options;
  std::map<std::string, std::int64_t> opsets;
  TensorReader tensors;
};

/// Reads one graph. A name that it does not define is looked for in the outer graph and becomes a captured
/// input at the end of its inputs.
class GraphReader {
 public:
  explicit GraphReader(const ReadContext& context, GraphReader* outer = nullptr)
      : context_(context), outer_(outer) {}

  void read(const onnx::GraphProto& proto);
  ir::Graph take() { return std::move(graph_); }

 private:
  struct Capture {
    ir::ValueId outer;
    ir::ValueId inner;
  };

  void read_inputs(const onnx::GraphProto& proto);
  void read_node(const onnx::NodeProto& node);
  ir::AttributeValue read_attribute(const onnx::AttributeProto& proto, std::vector<GraphReader>& bodies);
  ir::ValueId lookup(const std::string& name);
  ir::ValueId define(const std::string& name);

  const ReadContext& context_;
  GraphReader* outer_;
  ir::Graph graph_;
  std::unordered_map<std::string, ir::ValueId> names_;
  std::vector<Capture> captures_;
};

}  // namespace podium::importer
