// What outlives a micro-batch in a graph that trains: where its variables live, what becomes of them and
// when.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "executor/lower/draft/locations.h"
#include "executor/lower/graph/shard_variables.h"
#include "executor/program.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::lower {

/// A variable in the memory of one processor.
struct PlacedVariable {
  ir::ValueId value;
  int processor = 0;
  executor::Role role = executor::Role::Weight;
  ir::Tensor initial = {};
  ir::TensorLocation location = {};        ///< while nothing uses it
  bool accumulates = false;                ///< micro-batches add to it
  std::optional<std::size_t> weight = {};  ///< whose it is: the weight's place among all; a weight's own
};

/// Without a Training there are none, and no op is outer.
class Variables {
 public:
  Variables() = default;
  /// A variable lives where its updates are made, else where it is first read. `placement` fits the graph of
  /// `training`. Error when updates of one variable are made on different processors.
  /// `locations` are those of variable_locations, `parts` what shard_variables has made parts.
  Variables(const ir::Training& training, const ir::Placement& placement,
            const std::map<std::string, ir::TensorLocation>& locations, Parts parts);

  const std::vector<PlacedVariable>& all() const { return all_; }
  bool none() const { return all_.empty(); }
  bool is_variable(ir::ValueId value) const { return find(index_, value) >= 0; }
  /// The place of a variable in all().
  int place(ir::ValueId value) const { return find(index_, value); }
  /// Where a variable lives.
  int home(ir::ValueId value) const { return variable(value).processor; }
  const PlacedVariable& variable(ir::ValueId value) const { return all_[find(index_, value)]; }
  /// The variable that a value becomes; nothing for every other value.
  std::optional<ir::ValueId> updated(ir::ValueId value) const;
  bool is_hyper_parameter(ir::ValueId value) const { return find(hyper_, value) > 0; }
  /// Whether an output of the graph is an update, not something for the host.
  bool is_update(std::size_t output) const { return output < is_update_.size() && is_update_[output]; }
  /// Whether the op at this place runs once per update.
  bool is_outer(std::size_t op) const { return op < is_outer_.size() && is_outer_[op]; }
  /// Whether such an op gives an accumulator its value for the next update: not before all others have read
  /// it.
  bool is_reset(std::size_t op) const { return op < is_reset_.size() && is_reset_[op]; }
  /// Whether an op only gives a variable its value for the next micro-batch: not before all others have read
  /// it.
  bool is_late(std::size_t op) const { return op < is_late_.size() && is_late_[op]; }
  /// What is reduced over the replicas before outer ops read it.
  const std::vector<ir::ValueId>& reduced() const { return reduced_; }
  executor::CollectiveReduction reduction() const { return reduction_; }
  /// The replicas that reduce a value of reduced() among themselves.
  ir::ReplicaGroup reduction_group(ir::ValueId value) const;
  /// In how many slices a micro-batch's part of an output comes: 1 of one that adds up over slices.
  int slices(ir::ValueId output) const { return in_slices_.contains(output) ? slices_ : 1; }
  /// What a value that is a part is a part of; nullptr for every other value.
  const WholeTensor* whole(ir::ValueId value) const;

 private:
  static int find(const std::vector<int>& of_value, ir::ValueId value) {
    const auto at = static_cast<std::size_t>(value.index);
    return at < of_value.size() ? of_value[at] : -1;
  }

  std::vector<PlacedVariable> all_;
  std::vector<int> index_;    ///< per value: its place in all_, -1 for every other value
  std::vector<int> becomes_;  ///< per value: the place in all_ of the variable it becomes, or -1
  std::vector<int> hyper_;    ///< per value: 1 for a hyper-parameter, else -1
  std::vector<bool> is_update_;
  std::vector<bool> is_outer_;
  std::vector<bool> is_reset_;
  std::vector<bool> is_late_;
  std::vector<ir::ValueId> reduced_;
  int slices_ = 1;
  std::set<ir::ValueId> in_slices_;  ///< outputs
  std::map<ir::ValueId, ir::ReplicaGroup> reduction_groups_;
  Parts parts_;
  executor::CollectiveReduction reduction_ = executor::CollectiveReduction::Add;
};

}  // namespace podium::lower
