// Appends ops to a graph, inferring types as it goes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  ValueId input(std::string name, Type type);
  /// A constant; the name is made when none is given.
  ValueId constant(Tensor tensor, std::string_view name = "constant");
  /// One output of an ai.onnx op: `op("Add", {a, b})`. What types alone decide (the Shape of a static value)
  /// becomes a constant and no op.
  ValueId op(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
  /// Several outputs, in any domain.
  std::vector<ValueId> ops(std::string_view domain, std::string_view type, std::vector<ValueId> inputs,
                           std::size_t outputs, std::vector<Attribute> attributes = {});
  /// Any op, with bodies too: its outputs are made and typed, as are the values in its bodies.
  std::vector<ValueId> append(Op op, std::size_t outputs);
  /// After a change of the op: the types of its outputs and bodies.
  void infer_again(OpId id);
  void output(ValueId value);

  Graph& graph() { return graph_; }
  const Type& type(ValueId value) const { return graph_[value].type; }

 private:
  Graph& graph_;
};

}  // namespace podium::ir
