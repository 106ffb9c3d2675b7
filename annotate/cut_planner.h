// How the ops of a graph are cut over devices: by what nodes say and by where their operands lie.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "annotate/holdings.h"
#include "annotate/op_cut.h"
#include "annotate/partition.h"

namespace podium::annotate {

/// Where the plan places an op of the whole graph.
Place place_of(const ShardingPlan& plan, std::size_t op);

/// Error: a type, or size, of a value has to be known before the run.
[[noreturn]] void refuse_unknown(const ir::Graph& whole, ir::ValueId id, std::string_view what);

/// The boxes of an operand of shape `dims` with which the devices compute.
Boxes wanted_boxes(const OpCut& cut, Side side, std::size_t place, const ir::Dims& dims);

/// How a variable or constant lies that the op is the first to read: parts do not overlap, so that one along
/// which windows slide stays whole.
Boxes boxes_to_hold(const OpCut& cut, std::size_t input, const ir::Dims& dims);

class CutPlanner {
 public:
  /// `whole` is the training's graph with the values of steps that ops are written as, and `held` what
  /// devices have of them; both grow, and live as long as the plan does.
  CutPlanner(const ir::Training& training, const ir::Graph& whole, const ShardingPlan& plan,
             const Holdings& held);

  /// What the node says comes first, then variables and the largest operands; another operand comes first
  /// where that leaves no sum and moves less.
  OpCut plan_cut(const ir::Op& op, const ir::TypedOp& typed) const;

  /// The cut by what the node says and by operands that are no sums.
  OpCut cut_by_others_than_sums(const ir::Op& op, const ir::TypedOp& typed) const;

  /// The parts in which a sum is added up that an op reads which nothing says how to cut, if it can be: as
  /// the tensor lies of which it is the gradient, or of which the op, or one behind it, makes the gradient
  /// from it, else as another reader of the sum wants it. `at`: the op, or that whose step it is.
  std::optional<Boxes> form_of_sum(const ir::Op& op, const ir::TypedOp& typed, std::size_t input,
                                   std::size_t at) const;

  const std::vector<OperandSharding>& said_of(const ir::Op& op) const;
  Boxes boxes_said(const ir::ShardingSpec& spec, ir::ValueId id) const;
  Boxes boxes_said_or_held(const ir::Op& op, std::size_t input) const;
  /// What the op says of its inputs holds for the step, where that reads them.
  void say_of_inputs(const ir::Op& op, ir::Op& step);
  /// After values have been added to the whole graph.
  void grow();

 private:
  const ir::Type& type(ir::ValueId id) const { return whole_[id].type; }
  bool is_variable(ir::ValueId id) const { return held_[id].is_variable; }
  bool is_weight(ir::ValueId id) const { return kinds_.at(id) == ir::VariableKind::Weight; }
  bool is_said(const ir::Op& op, std::size_t input) const;
  void follow_said(const ir::Op& op, OpCut& cut) const;
  std::vector<std::size_t> inputs_by_weight(const ir::Op& op) const;
  void follow_inputs(const ir::Op& op, const std::vector<std::size_t>& order, OpCut& cut) const;
  void follow_others(const ir::Op& op, OpCut& cut) const;
  void avoid_sum(const ir::Op& op, const OpCut& as_said, const std::vector<std::size_t>& order,
                 OpCut& cut) const;
  std::int64_t elements_moved(const ir::Op& op, const OpCut& cut) const;
  std::optional<int> device_of_accumulator(const ir::Op& op) const;
  void run_once(const ir::Op& op, OpCut& cut) const;
  void run_whole(const ir::Op& op, OpCut& cut) const;
  bool makes_number(const ir::Op& op) const;
  bool is_whole_somewhere(ir::ValueId id) const;
  std::optional<Boxes> boxes_of_tensor(ir::ValueId gradient) const;
  std::optional<Boxes> boxes_by_outputs(const ir::Op& op, const ir::TypedOp& typed, std::size_t input,
                                        int steps) const;
  std::optional<Boxes> boxes_by_first_reader(ir::ValueId id, int steps) const;
  std::optional<Boxes> boxes_of_another_reader(ir::ValueId id, std::size_t at) const;

  const ir::Training& training_;
  const ir::Graph& whole_;
  const ShardingPlan& plan_;
  const Holdings& held_;
  const ir::Consumers readers_;
  const std::map<ir::ValueId, ir::ValueId> tensors_;  ///< whose gradients values are
  std::map<ir::ValueId, ir::VariableKind> kinds_;
  ir::IdMap<ir::ValueId, bool> is_weight_moved_;  ///< a weight, or one that is cast or turned
  ir::IdMap<ir::ValueId, bool> accumulated_;
  std::vector<std::vector<OperandSharding>> said_;  ///< ShardingPlan::ops, and of steps
};

}  // namespace podium::annotate
