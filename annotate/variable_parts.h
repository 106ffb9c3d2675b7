// Variables and constants of a graph that is cut over devices: each is cut as its first reader wants it.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "annotate/holdings.h"
#include "annotate/partition.h"
#include "ir/training.h"

namespace podium::annotate {

class VariableParts {
 public:
  /// Of the values of `whole`, which has those of the training's graph and may grow; parts are added to
  /// `out`, and what devices have of a variable to `held`. All live as long as this does.
  VariableParts(const ir::Training& training, const ir::Graph& whole, const ShardingPlan& plan,
                Holdings& held, ir::Graph& out);

  bool has(ir::ValueId id) const { return variable_of_.contains(id); }
  /// Whether it lies as a weight does: optimizer state and accumulators.
  bool is_state(ir::ValueId id) const { return has(id) && variable(id).weight.valid(); }
  /// The value in the new graph, under its own name.
  ir::ValueId add_whole(ir::ValueId id);
  /// A state lies as its weight does, on the first device that has each part.
  void decide_state(ir::ValueId id);
  /// A weight, or a constant, is cut as its first reader wants it.
  void decide(ir::ValueId id, const Boxes& wanted);
  /// The parts of a variable; one that no op reads is whole.
  const std::vector<Piece>& parts_of(ir::ValueId id);
  /// The part of a weight that has the box, else its first one.
  const Piece& part_with(ir::ValueId weight, const Box& box);
  /// The first device that has a part.
  int first_device(ir::ValueId part) const;
  /// Those that are in several parts.
  std::vector<CutVariable> take_cut() { return std::move(cut_); }

 private:
  const ir::Variable& variable(ir::ValueId id) const { return training_.variables[variable_of_.at(id)]; }
  const ir::Type& type(ir::ValueId id) const { return whole_[id].type; }
  Piece add_part(ir::ValueId id, const Box& box, int device);
  void note_cut(ir::ValueId id);

  const ir::Training& training_;
  const ir::Graph& whole_;
  const ShardingPlan& plan_;
  Holdings& held_;
  ir::Graph& out_;
  std::vector<CutVariable> cut_;
  std::map<ir::ValueId, std::size_t> variable_of_;   ///< an input's place in Training::variables
  std::map<ir::ValueId, std::vector<Piece>> parts_;  ///< of variables that are decided
  std::map<std::pair<ir::ValueId, Box>, std::size_t>
      part_of_box_;                          ///< places in parts_ of those that are cut
  std::map<ir::ValueId, int> first_device_;  ///< that has a part
};

}  // namespace podium::annotate
