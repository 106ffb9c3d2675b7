#include "executor/numeric/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <set>

#include "executor/numeric/rewriter.h"
#include "ir/disjoint_sets.h"
#include "ir/passes/sample_axis.h"

namespace podium::numeric {
namespace {

using ir::Graph;
using ir::Op;
using ir::Type;
using ir::ValueId;

// Less than this stays in the second-level cache with its neighbours: the calls for each piece cost more than
// a chain saves.
constexpr std::int64_t kLeastElements = 1 << 14;

bool is_number(const Type& type) { return type.is_static() && type.element_count() == 1; }

bool can_be_member(const Graph& graph, const Op& op) {
  // An Identity may hand an input on, which costs nothing; the second input of Expand is a shape.
  if (!ir::is_elementwise(op) || op.is("Identity") || op.is("Expand")) return false;
  if (op.spec->random || op.outputs.size() != 1 || op.inputs.empty()) return false;
  const Type& made = graph[op.outputs[0]].type;
  if (!made.is_static() || made.element == ir::DataType::String) return false;
  if (made.element_count() < kLeastElements) return false;
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
    if (!id.valid()) return true;
    const Type& type = graph[id].type;
    return type.is_static() && type.element != ir::DataType::String &&
           (type.dims == made.dims || is_number(type));
  });
}

bool makes_numbers(const Graph& graph, const Op& op) {
  return std::all_of(op.outputs.begin(), op.outputs.end(),
                     [&](ValueId id) { return !id.valid() || is_number(graph[id].type); });
}

class Chains {
 public:
  explicit Chains(Graph& graph)
      : graph_(graph), uses_(ir::use_counts(graph)), connected_(graph.values.size()) {}

  bool run() {
    std::vector<Op> ops = std::exchange(graph_.ops, {});
    for (Op& op : ops) {
      const bool joins = can_be_member(graph_, op);
      const bool fits = joins && !members_.empty() && dims_of(op) == dims_of(members_.front());
      if (!fits && (joins || !makes_numbers(graph_, op) || reads_members(op))) close();
      if (joins) {
        add(std::move(op));
      } else {
        graph_.ops.push_back(std::move(op));
      }
    }
    close();
    return changed_;
  }

 private:
  const ir::Dims& dims_of(const Op& op) const { return graph_[op.outputs[0]].type.dims; }
  bool reads_members(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) { return made_.contains(id); });
  }

  void add(Op op) {
    for (ValueId id : inputs_of(op)) {
      if (!is_number(graph_[id].type)) connected_.join(id.number(), op.outputs[0].number());
    }
    made_.insert(op.outputs[0]);
    members_.push_back(std::move(op));
  }

  // Unconnected members become separate chains, such as one for each weight: in one chain they would only
  // compete for the caches.
  void close() {
    std::vector<std::vector<Op>> chains;
    std::map<std::size_t, std::size_t> chain_of_set;
    for (Op& op : members_) {
      const auto [entry, is_new] =
          chain_of_set.try_emplace(connected_.find(op.outputs[0].number()), chains.size());
      if (is_new) chains.emplace_back();
      chains[entry->second].push_back(std::move(op));
    }
    members_.clear();
    made_.clear();
    for (std::vector<Op>& members : chains) {
      changed_ = changed_ || members.size() > 1;
      graph_.ops.push_back(members.size() > 1 ? chain_of(std::move(members)) : std::move(members.front()));
    }
  }

  // Values that only members read stay inside the chain.
  Op chain_of(std::vector<Op> members) {
    std::map<ValueId, int> reads;
    for (const Op& op : members) {
      for (ValueId id : inputs_of(op)) ++reads[id];
    }
    const auto is_read_elsewhere = [&](ValueId id) { return uses_[id] != reads[id]; };
    return op_over(graph_, "Chain", std::move(members), is_read_elsewhere);
  }

  Graph& graph_;
  ir::IdMap<ir::ValueId, int> uses_;
  ir::DisjointSets connected_;  // by large values
  std::vector<Op> members_;     // ops of chains that are not closed
  std::set<ValueId> made_;      // by them
  bool changed_ = false;
};

}  // namespace

bool fuse_elementwise(Graph& graph) { return Chains(graph).run(); }

}  // namespace podium::numeric
