// What outlives a micro-batch in a graph that trains: where its variables live, what becomes of them and
// when.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/lower/graph/shard_variables.h"
#include "executor/lower/placed/locations.h"
#include "executor/lower/placed/placed_graph.h"
#include "executor/program.h"

namespace podium::lower {

/// A variable in the memory of one processor, its owner. Other processors that compute with it have copies,
/// which get what the owner has updated before they are read again.
struct PlacedVariable {
  ir::ValueId value;
  int processor = 0;
  std::vector<int> copies = {};  ///< the other processors, in ascending order
  executor::Role role = executor::Role::Weight;
  ir::Tensor initial = {};
  ir::TensorLocation location = {};  ///< while nothing uses it
  bool accumulates = false;          ///< micro-batches add to it
  std::optional<int> weight = {};    ///< whose it is: the weight's place among all; a weight's own
};

/// A graph that does not train has none.
class Variables {
 public:
  /// A variable lives where its updates are made, else where it is first read. A weight has copies on all
  /// other processors that read it for a micro-batch, unless micro-batches change it. Error when updates of
  /// one variable are made on different processors. `locations` are those of variable_locations, `shards`
  /// what shard_variables has cut.
  Variables(const PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations,
            Shards shards);

  const std::vector<PlacedVariable>& all() const { return all_; }
  bool is_variable(ir::ValueId value) const { return roles_[value].variable != kNone; }
  /// The place of a variable in all().
  int place(ir::ValueId value) const { return roles_[value].variable; }
  /// The processors that have a variable for the whole run, its owner in front.
  std::vector<int> processors(ir::ValueId value) const;
  const PlacedVariable& variable(ir::ValueId value) const { return all_[place(value)]; }
  /// The variable that a value becomes; nothing for every other value.
  std::optional<ir::ValueId> updated(ir::ValueId value) const;
  bool is_hyper_parameter(ir::ValueId value) const { return roles_[value].is_hyper_parameter; }
  /// Whether an output of the graph is an update, not something for the host.
  bool is_update(int output) const { return is_update_[output]; }
  /// Whether an op that runs once per update gives an accumulator its value for the next one: not before all
  /// others have read it.
  bool is_reset(ir::OpId op) const { return is_reset_[op]; }
  /// Whether an op only gives a variable its value for the next micro-batch: not before all others have read
  /// it (see give_counts_an_op).
  bool is_late(ir::OpId op) const { return is_late_[op]; }
  /// What is reduced over the replicas before outer ops read it.
  const std::vector<ir::ValueId>& reduced() const { return reduced_; }
  executor::CollectiveReduction reduction() const { return reduction_; }
  /// The replicas that reduce a value of reduced() among themselves.
  ir::ReplicaGroup reduction_group(ir::ValueId value) const;
  /// In how many slices a micro-batch's part of an output comes: 1 of one that adds up over slices.
  int slices(ir::ValueId output) const { return roles_[output].is_in_slices ? slices_ : 1; }
  /// What a value that is a part is a part of; nullptr for every other value.
  const WholeTensor* whole(ir::ValueId value) const;

 private:
  static constexpr int kNone = -1;

  /// What a value is to the variables.
  struct ValueRole {
    int variable = kNone;  ///< that it is: the place in all_
    int becomes = kNone;   ///< the variable that it becomes
    bool is_hyper_parameter = false;
    bool is_in_slices = false;  ///< an output that comes slice by slice
  };

  void add_variables(const PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations);
  void add_updates(const PlacedGraph& placed);
  void add_copies(const PlacedGraph& placed);
  void find_ops(const PlacedGraph& placed);

  std::vector<PlacedVariable> all_;
  ir::IdMap<ir::ValueId, ValueRole> roles_;
  std::vector<bool> is_update_;  ///< per output of the graph
  ir::IdMap<ir::OpId, bool> is_reset_;
  ir::IdMap<ir::OpId, bool> is_late_;
  std::vector<ir::ValueId> reduced_;
  int slices_ = 1;
  std::map<ir::ValueId, ir::ReplicaGroup> reduction_groups_;
  Shards shards_;
  executor::CollectiveReduction reduction_ = executor::CollectiveReduction::Add;
};

}  // namespace podium::lower
