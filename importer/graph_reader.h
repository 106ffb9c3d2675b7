// GraphProto to ir::Graph: bodies read, functions inlined, constants taken out of nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "importer/import.h"
#include "importer/input_types.h"
#include "importer/node_order.h"
#include "importer/opset.h"
#include "importer/scope.h"
#include "importer/source.h"
#include "importer/tensor_proto.h"
#include "importer/types_so_far.h"

namespace podium::importer {

/// Reads the graphs of one model.
class GraphReader {
 public:
  GraphReader(const Source& source, TensorReader tensors, const ImportOptions& options)
      : source_(source), tensors_(std::move(tensors)), options_(options) {}

  /// The main graph.
  ir::Graph read();
  /// For each op of the main graph, the index of the node it was read from.
  std::vector<std::int32_t> take_nodes_of_ops() { return std::move(nodes_of_ops_); }
  /// Calls of functions outside of bodies, with the names of the graph that was read.
  std::vector<FunctionCall> calls(const ir::Graph& graph) const;

 private:
  struct Frame;

  /// An attribute given to a function, with the frame and scope that wrote it (a graph in it reads names
  /// there).
  struct Given {
    const onnx::AttributeProto* proto = nullptr;
    const Frame* frame = nullptr;
    Scope* scope = nullptr;
  };

  /// The context of nodes beside values: the main graph's, or that of one call of a function.
  struct Frame {
    const Opsets* opsets = nullptr;
    const Function* function = nullptr;
    const Frame* caller = nullptr;
    std::string prefix = {};  ///< before the names of nodes
    std::unordered_map<std::string, Given> attributes = {};
    std::vector<ir::Attribute> annotations =
        {};  ///< the calling node's, which hold for all nodes of the function
  };

  /// A call outside of bodies. Callers may still name its values.
  struct ReadCall {
    FunctionCall call;
    std::map<std::string, ir::ValueId> values = {};  ///< of the function's inputs and outputs
  };

  /// A body whose captures are not inputs yet.
  struct OpenBody {
    std::shared_ptr<ir::Graph> graph;
    std::unique_ptr<Scope> scope;
  };

  void read_main_inputs(const onnx::GraphProto& proto, Scope& scope);
  void read_initializers(const onnx::GraphProto& proto, Scope& scope);
  void read_outputs(const onnx::GraphProto& proto, Scope& scope);
  void read_nodes(const NodeList& nodes, const Frame& frame, Scope& scope);
  void read_node(const onnx::NodeProto& node, const Frame& frame, Scope& scope);
  void read_constant(const onnx::NodeProto& node, const Frame& frame, Scope& scope);
  void read_op(const onnx::NodeProto& node, const Frame& frame, Scope& scope);

  static void close_bodies(std::vector<OpenBody>& bodies, RawNode& op, const ir::Graph& graph);

  const Function* find_function(const onnx::NodeProto& node) const;
  void read_call(const onnx::NodeProto& node, const Function& function, const Frame& frame, Scope& scope);
  void note_call(const onnx::NodeProto& node, const Function& function, const Frame& callee, Scope& inner);
  void bind_attributes(const onnx::NodeProto& node, Frame& callee, const Frame& frame, Scope& scope);
  std::string prefix_of_call(const onnx::NodeProto& node, const Frame& frame);

  std::vector<ir::Attribute> read_attributes(const onnx::NodeProto& node, const Frame& frame, Scope& scope,
                                             std::vector<OpenBody>& bodies);
  static Given resolve(const onnx::AttributeProto& proto, const Frame& frame, Scope& scope);
  ir::AttributeValue read_attribute(const Given& given, Scope& scope, std::vector<OpenBody>& bodies);
  ir::Body read_body(const onnx::GraphProto& proto, const Given& given, Scope& scope,
                     std::vector<OpenBody>& bodies);

  const Source& source_;
  TensorReader tensors_;
  const ImportOptions& options_;
  Symbols symbols_;
  TypesSoFar* types_ = nullptr;  ///< of the graph that is being read
  std::vector<std::int32_t> nodes_of_ops_;
  std::unordered_map<std::string, int> calls_;  ///< calls of functions so far, by the caller's name
  std::vector<ReadCall> read_calls_;
  std::int64_t inlined_ = 0;  ///< nodes of functions so far
  int depth_ = 0;             ///< number of bodies and calls around the node that is read
};

}  // namespace podium::importer
