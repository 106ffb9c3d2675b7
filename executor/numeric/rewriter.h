// Finding and replacing patterns of ops in a graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::numeric {

/// The producer and the readers of each value, kept true while ops are replaced. Ops keep their places, so a
/// fused op belongs where the last op of its pattern was; erased ops stay until `finish` is called.
class Rewriter {
 public:
  explicit Rewriter(ir::Graph& graph);

  ir::Graph& graph() { return graph_; }
  const ir::Graph& graph() const { return graph_; }
  const ir::Op& op(ir::OpId id) const { return graph_[id]; }
  const ir::Type& type(ir::ValueId id) const { return graph_[id].type; }
  /// All places, those of erased ops too.
  ir::IdRange<ir::OpId> op_ids() const { return graph_.op_ids(); }

  /// False for an op that has been erased.
  bool is_alive(ir::OpId id) const { return alive_[id]; }
  /// The op that produces a value; not valid for inputs and constants.
  ir::OpId producer(ir::ValueId id) const { return producers_[id]; }
  /// The op that produces a value, if the op has this name in ai.onnx (or `domain`); else not valid.
  std::optional<ir::OpId> producer(ir::ValueId id, std::string_view name, std::string_view domain = "") const;
  /// The only op that reads a value; not valid when there are more readers or the value is an output.
  ir::OpId only_reader(ir::ValueId id) const;
  std::optional<ir::OpId> only_reader(ir::ValueId id, std::string_view name,
                                      std::string_view domain = "") const;
  const std::vector<ir::OpId>& readers(ir::ValueId id) const { return readers_[id]; }
  bool is_output(ir::ValueId id) const { return is_output_[id]; }

  /// The numbers of a constant that no run can change (an input's default can change); nullptr for any other
  /// value.
  const ir::Tensor* constant(ir::ValueId id) const;
  /// A constant of one float element.
  std::optional<double> number(ir::ValueId id) const;
  /// The other input of an op with two inputs, one of which is the number `wanted` (to about six digits).
  std::optional<ir::ValueId> other_than_number(ir::OpId id, double wanted) const;
  /// The input that is not `value`, of an op with two inputs.
  ir::ValueId other_input(ir::OpId id, ir::ValueId value) const;

  void erase(ir::OpId id);
  /// Puts `replacement` in the place of an op.
  void replace(ir::OpId id, ir::Op replacement);
  /// Removes the erased ops, and ops whose results only erased ops read. True when anything was changed.
  bool finish();

 private:
  void attach(ir::OpId id);
  void grow();

  ir::Graph& graph_;
  ir::IdMap<ir::OpId, bool> alive_;
  ir::IdMap<ir::ValueId, ir::OpId> producers_;
  ir::IdMap<ir::ValueId, std::vector<ir::OpId>> readers_;
  ir::IdMap<ir::ValueId, bool> is_input_;
  ir::IdMap<ir::ValueId, bool> is_output_;
  bool changed_ = false;
};

/// Calls `at` for every op in its place that is not erased by then, those that a call puts there too. True
/// when the graph changed.
bool rewrite_ops(ir::Graph& graph, const std::function<void(Rewriter&, ir::OpId)>& at);

/// An op of the engine's own domain.
ir::Op make_op(std::string_view name, std::string_view domain, std::vector<ir::ValueId> inputs,
               std::vector<ir::ValueId> outputs, std::vector<ir::Attribute> attributes = {});

/// A Cast, whose output is not set.
ir::Op make_cast(ir::ValueId from, ir::DataType to);

/// An op of the engine's own domain that stands for `members`, which become its body. They are in an order in
/// which they can run and make one value each; those that `leaves` holds for become outputs, the others stay
/// inside.
ir::Op op_over(const ir::Graph& graph, std::string_view name, std::vector<ir::Op> members,
               const std::function<bool(ir::ValueId)>& leaves);

/// Sets the types of the op's outputs from its row's inference.
void infer_types(ir::Graph& graph, const ir::Op& op);

/// Whether an input is there, not left out.
bool has_input(const ir::Op& op, std::size_t i);

/// The value is a constant of `count` elements along its last axis.
bool is_vector(const Rewriter& rewriter, ir::ValueId id, std::int64_t count);

/// The same numbers with one axis.
ir::ValueId as_vector(ir::Graph& graph, ir::ValueId constant);

/// Of a reduction over known axes that leaves their places: the axes in their order, counted from the first.
std::optional<ir::Dims> axes_of(const Rewriter& rewriter, const ir::Op& op);

/// `id` is the ReduceMean of a value over the axes, as axes_of gives them: that value.
std::optional<ir::ValueId> averaged(const Rewriter& rewriter, ir::ValueId id, const ir::Dims& axes);

/// `id` is a value less its mean over the axes: that value.
std::optional<ir::ValueId> centered(const Rewriter& rewriter, ir::ValueId id, const ir::Dims& axes);

/// Every input and output that is there is a float tensor of static shape with at least one element.
bool is_static_float(const ir::Graph& graph, const ir::Op& op);

}  // namespace podium::numeric
