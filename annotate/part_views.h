// What devices make themselves of parts that they have been brought.
#pragma once

#include <vector>

#include "annotate/holdings.h"
#include "annotate/op_cut.h"
#include "annotate/partition.h"

namespace podium::annotate {

class PartViews {
 public:
  /// `ops` are those of the training's graph, `makers` who of them makes its values; `whole` has these and
  /// may grow; `held` says what devices have of them, and ops are appended to `out`. All live as long as this
  /// does.
  PartViews(const std::vector<ir::Op>& ops, const ir::IdMap<ir::ValueId, ir::OpId>& makers,
            const ir::Graph& whole, const ShardingPlan& plan, Holdings& held, ir::Graph& out)
      : ops_(ops), makers_(makers), whole_(whole), plan_(plan), held_(held), out_(out) {}

  /// Where all who want a box of a value have been brought the box of what it is a view of, they make it
  /// themselves: a product's gradients read what flows as it is, and as a matrix.
  void make(ir::ValueId id, const Boxes& wanted, Context context);

 private:
  // An op that gives what devices have another form, and the boxes of it that they make.
  struct View {
    const ir::Op* op;
    OpCut cut;
    Boxes boxes;
  };

  bool have_all(ir::ValueId id, const Boxes& wanted) const;
  bool are_known(ir::ValueId id, const Boxes& boxes, Context context) const;
  const ir::Op* view_that_makes(ir::ValueId id, Context context) const;
  void emit(const View& view, Context context);
  const ir::Type& type(ir::ValueId id) const { return whole_[id].type; }

  const std::vector<ir::Op>& ops_;
  const ir::IdMap<ir::ValueId, ir::OpId>& makers_;
  const ir::Graph& whole_;
  const ShardingPlan& plan_;
  Holdings& held_;
  ir::Graph& out_;
};

}  // namespace podium::annotate
