// Ops in their order join the chain that is open while they make the same shape; ops that make numbers alone,
// and read no member, go before it, and any other op closes it. Closed members fall apart into those that
// large values connect. A stretched operand is none of them: where one is, there is machine code for all
// members (kernels/fused/stretched_chain.h), or they stay as they are.
#include "executor/numeric/fuse_elementwise.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "executor/kernels/fused/stretched_chain.h"
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

// How an op can be in a chain.
enum class Joins : std::uint8_t {
  Not,
  Plain,      // all its operands are of one shape, or numbers
  Stretched,  // some are stretched to the shape of others
};

Joins how_it_joins(const Graph& graph, const Op& op) {
  // An Identity may hand an input on, which costs nothing; the second input of Expand is a shape.
  if (!ir::is_elementwise(op) || op.is("Identity") || op.is("Expand")) return Joins::Not;
  if (op.spec->random || op.outputs.size() != 1 || op.inputs.empty()) return Joins::Not;
  const Type& made = graph[op.outputs[0]].type;
  if (!made.is_static() || made.element == ir::DataType::String) return Joins::Not;
  if (made.element_count() < kLeastElements) return Joins::Not;
  const auto is_known = [&](ValueId id) {
    return graph[id].type.is_static() && graph[id].type.element != ir::DataType::String;
  };
  const auto is_full = [&](ValueId id) { return graph[id].type.dims == made.dims; };
  const auto inputs = inputs_of(op);
  if (!std::ranges::all_of(inputs, is_known)) return Joins::Not;
  if (std::ranges::all_of(inputs, [&](ValueId id) { return is_full(id) || is_number(graph[id].type); }))
    return Joins::Plain;
  const bool has_code = kernels::ChainCode::knows(ir::TypedOp(graph, op));
  return has_code && std::ranges::any_of(inputs, is_full) ? Joins::Stretched : Joins::Not;
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
      const Joins joins = how_it_joins(graph_, op);
      const bool fits = joins != Joins::Not && !members_.empty() &&
                        dims_of(op) == dims_of(members_.front()) && suits_code(op, joins);
      if (!fits && (joins != Joins::Not || !makes_numbers(graph_, op) || reads_members(op))) close();
      if (joins != Joins::Not) {
        add(std::move(op), joins);
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

  std::set<ValueId> stretched_of(const Op& op) const {
    std::set<ValueId> found;
    for (ValueId id : inputs_of(op)) {
      if (graph_[id].type.dims != dims_of(op) && !is_number(graph_[id].type)) found.insert(id);
    }
    return found;
  }

  // Where operands are stretched there is code for all ops or no chain.
  bool suits_code(const Op& op, Joins joins) const {
    if (joins == Joins::Plain)
      return stretched_.empty() || kernels::ChainCode::knows(ir::TypedOp(graph_, op));
    std::set<ValueId> all = stretched_of(op);
    all.insert(stretched_.begin(), stretched_.end());
    if (all.size() > kernels::kMostOperands) return false;
    return std::ranges::all_of(
        members_, [&](const Op& one) { return kernels::ChainCode::knows(ir::TypedOp(graph_, one)); });
  }

  void add(Op op, Joins joins) {
    for (ValueId id : inputs_of(op)) {
      if (graph_[id].type.dims == dims_of(op)) connected_.join(id.number(), op.outputs[0].number());
    }
    if (joins == Joins::Stretched) stretched_.merge(stretched_of(op));
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
    stretched_.clear();
    for (const std::vector<Op>& members : chains) {
      std::optional<Op> chain = members.size() > 1 ? chain_of(members) : std::nullopt;
      changed_ = changed_ || chain.has_value();
      if (chain) {
        graph_.ops.push_back(*std::move(chain));
      } else {
        std::ranges::copy(members, std::back_inserter(graph_.ops));
      }
    }
  }

  // Values that only members read stay inside the chain.
  std::optional<Op> chain_of(const std::vector<Op>& members) {
    std::map<ValueId, int> reads;
    for (const Op& op : members) {
      for (ValueId id : inputs_of(op)) ++reads[id];
    }
    const auto is_read_elsewhere = [&](ValueId id) { return uses_[id] != reads[id]; };
    Op chain = op_over(graph_, "Chain", members, is_read_elsewhere);
    const Graph& body = *ir::attribute<ir::Body>(chain, "body");
    const bool is_stretched = kernels::StretchedChain::has_stretched_input(body);
    return is_stretched && kernels::StretchedChain::of(body) == nullptr ? std::nullopt
                                                                        : std::optional(std::move(chain));
  }

  Graph& graph_;
  ir::IdMap<ir::ValueId, int> uses_;
  ir::DisjointSets connected_;   // by large values
  std::vector<Op> members_;      // ops of chains that are not closed
  std::set<ValueId> made_;       // by them
  std::set<ValueId> stretched_;  // operands of theirs
  bool changed_ = false;
};

}  // namespace

bool fuse_elementwise(Graph& graph) { return Chains(graph).run(); }

}  // namespace podium::numeric
