// One walk over the ops, the last one first: what an op's output may hold at most bounds what it moves there,
// and an op that looks something up bounds what it looks up with.
#include "executor/session/id_counts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <set>
#include <string_view>

#include "ir/id_map.h"
#include "ir/infer.h"

namespace podium {
namespace {

using ir::TypedOp;

// The bound of a value that nothing bounds, and of one of which a reader asks more than to be an id.
constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNoId = 0;

// The length of a tensor along one of its axes.
std::int64_t length(const ir::Type& type, std::int64_t axis) {
  if (!type.is_tensor() || !type.is_static() || axis < -type.rank() || axis >= type.rank()) return kNoId;
  return type.dims[static_cast<std::size_t>(ir::normalized_axis(axis, type.rank()))];
}

std::int64_t along_axis(const TypedOp& op) { return length(op.input(0), op.get_int("axis")); }

std::int64_t depth(const TypedOp& op) { return length(op.output(0), op.get_int("axis")); }

std::int64_t classes(const TypedOp& op) { return length(op.input(0), 1); }

// What looks something up: the input that holds ids, and how many there are.
struct Lookup {
  std::string_view op;
  std::size_t ids;
  std::int64_t (*count)(const TypedOp& op);
};

constexpr std::array kLookups{
    Lookup{"Gather", 1, along_axis},
    Lookup{"GatherElements", 1, along_axis},
    Lookup{"ScatterElements", 1, along_axis},
    Lookup{"OneHot", 0, depth},
    Lookup{"SoftmaxCrossEntropyLoss", 1, classes},
    Lookup{"NegativeLogLikelihoodLoss", 1, classes},
};

// The first of the inputs that an op's output 0 has the elements of, and the end of them; all others only
// tell of places.
struct Moved {
  std::string_view op;
  std::size_t first = 0;
  std::size_t end = 1;
};

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::array kMoves{
    Moved{"Identity"}, Moved{"Transpose"},      Moved{"Slice"}, Moved{"Split"},
    Moved{"Expand"},   Moved{"Tile"},           Moved{"Pad"},   Moved{"Concat", 0, kAll},
    Moved{"Gather"},   Moved{"GatherElements"}, Moved{"Cast"},  Moved{"Where", 1, 3},
};

bool compares(const ir::Op& op) {
  static const std::set<std::string_view> kNames{"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                                                 "Shape", "Size"};
  return op.spec->domain.empty() && kNames.contains(op.spec->name);
}

bool holds_integers(const ir::Type& type) { return type.is_tensor() && is_integer(type.element); }

template <class Rows>
auto row_of(const Rows& rows, const ir::Op& op) {
  return std::ranges::find_if(rows, [&](const auto& row) { return op.is(row.op); });
}

class Walk {
 public:
  explicit Walk(const ir::Graph& graph) : graph_(graph) {
    bounds_.resize(std::ssize(graph.values), kUnbounded);
    for (const ir::Op& op : std::views::reverse(graph.ops)) visit(op);
  }

  std::int64_t bound(ir::ValueId id) const { return bounds_[id]; }

 private:
  void visit(const ir::Op& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ir::ValueId id = op.inputs[i];
      if (!id.valid() || !holds_integers(graph_[id].type) || graph_.is_constant(id)) continue;
      bounds_[id] = std::min(bounds_[id], bound_of_use(op, i));
    }
  }

  std::int64_t bound_of_use(const ir::Op& op, std::size_t input) const {
    if (compares(op)) return kUnbounded;
    const auto lookup = row_of(kLookups, op);
    if (lookup != kLookups.end() && lookup->ids == input) return lookup->count(TypedOp(graph_, op));
    const auto move = row_of(kMoves, op);
    const bool moves =
        (move != kMoves.end() && input >= move->first && input < move->end) || (op.spec->view && input == 0);
    return moves ? bound_of_outputs(op) : kNoId;
  }

  // Elements that become floats are reckoned with.
  std::int64_t bound_of_outputs(const ir::Op& op) const {
    std::int64_t bound = kUnbounded;
    for (ir::ValueId id : outputs_of(op)) {
      const ir::Type& type = graph_[id].type;
      if (type.is_tensor() && type.element == ir::DataType::Bool) continue;
      bound = std::min(bound, holds_integers(type) ? bounds_[id] : kNoId);
    }
    return bound;
  }

  const ir::Graph& graph_;
  ir::IdMap<ir::ValueId, std::int64_t> bounds_;
};

}  // namespace

IdCounts count_ids(const ir::Graph& graph) {
  const Walk walk(graph);
  IdCounts counts;
  for (ir::ValueId id : graph.inputs) {
    const std::int64_t bound = walk.bound(id);
    if (bound != kUnbounded && bound != kNoId) counts[graph[id].name] = bound;
  }
  return counts;
}

}  // namespace podium
