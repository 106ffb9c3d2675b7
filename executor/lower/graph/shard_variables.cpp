#include "executor/lower/graph/shard_variables.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "executor/lower/graph/zeros.h"
#include "executor/lower/program/split_collectives.h"
#include "ir/at.h"
#include "ir/disjoint_sets.h"
#include "ir/gradients/gradient.h"
#include "ir/passes/sample_axis.h"

namespace podium::lower {

using executor::CollectiveKind;
using executor::CollectiveReduction;
using ir::Op;
using ir::OpPlacement;
using ir::ValueId;

namespace {

bool adds_up_to_a_number(const ir::Graph& graph, const Op& op) {
  const bool adds_up = op.is("ReduceSumSquare") || op.is("ReduceSum") || op.is("ReduceL1");
  return adds_up && graph[op.outputs[0]].type.dims.empty();
}

// The replicas that have a part each. Those that hold the same part may share the variable too.
struct Domain {
  ir::ReplicaGroup group;
  bool is_shared_across = false;
  bool operator==(const Domain&) const = default;
};

class Sharder {
 public:
  Sharder(ir::Training& training, ir::Placement& placement,
          const std::map<std::string, ir::TensorLocation>& locations, int replicas)
      : training_(training),
        graph_(training.graph),
        placement_(placement),
        replicas_(replicas),
        families_(graph_.values.size()) {
    std::set<ValueId> accumulate;
    for (const ir::Update& update : training.updates) {
      if (!update.outer) accumulate.insert(update.variable);
    }
    for (const ir::Variable& variable : training.variables) {
      const ValueId value = variable.value;
      const ir::TensorLocation& location = locations.at(graph_[value].name);
      if (!location.sharded) continue;
      const std::string& weight = graph_[variable.weight.valid() ? variable.weight : value].name;
      domains_.emplace(value, Domain{location.domain, !placement.variable_groups.contains(weight)});
      if (!accumulate.contains(value)) continue;
      accumulated_.insert(value);
      const bool is_state = variable.kind == ir::VariableKind::OptimizerState;
      if (is_state && !training.reduces_by_mean) velocities_.insert(value);
    }
    for (const ir::Update& update : training.updates) becomes_[update.output] = update.variable;
    reduced_.insert(training.reduced.begin(), training.reduced.end());
  }

  Parts run() {
    if (domains_.empty()) return {};
    for (const Op& op : graph_.ops) join_family(op);
    for (const auto& [variable, domain] : domains_) mark(variable, domain);
    for (const auto& [output, variable] : becomes_) {
      const auto domain = domains_.find(variable);
      if (domain != domains_.end()) mark(graph_.outputs[output], domain->second);
    }
    decide();
    for (const auto& [variable, domain] : domains_) make_part(variable, domain.group);
    const std::vector<Op> ops = std::exchange(graph_.ops, {});
    const std::vector<OpPlacement> places = std::exchange(placement_.ops, {});
    for (std::size_t i = 0; i < ops.size(); ++i) rewrite(ops[i], places[i]);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) finish(i);
    return std::move(parts_);
  }

 private:
  // Where an op runs.
  struct Place {
    OpPlacement placement;
    bool outer = false;
  };

  // Of the outer context, or adding to an accumulator of which each replica has a part.
  bool computes_by_element(const Op& op) const {
    if (!ir::is_elementwise(op) || op.spec->random || op.outputs.size() != 1) return false;
    const ir::Type& type = graph_[op.outputs[0]].type;
    if (!type.is_static() || type.element_count() < 2) return false;
    const bool accumulates = std::any_of(op.inputs.begin(), op.inputs.end(),
                                         [&](ValueId id) { return accumulated_.contains(id); });
    if (!is_outer(op) && !accumulates) return false;
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
      return id.valid() && (graph_[id].type.dims == type.dims || is_number(id));
    });
  }
  bool is_number(ValueId id) const {
    return graph_[id].type.is_static() && graph_[id].type.element_count() == 1 &&
           graph_[id].type.dims.size() < 2;
  }

  // What is added to an accumulator may be read whole elsewhere: it is scattered for it, and no member.
  void join_family(const Op& op) {
    if (!computes_by_element(op)) return;
    if (!is_outer(op)) accumulated_.insert(op.outputs[0]);
    for (ValueId id : op.inputs) {
      if (is_number(id) || graph_.is_constant(id)) continue;
      if (is_outer(op) || accumulated_.contains(id)) families_.join(at(id), at(op.outputs[0]));
    }
  }
  void mark(ValueId member, const Domain& domain) {
    const auto [found, is_new] = domain_of_family_.try_emplace(families_.find(at(member)), domain);
    if (found->second == domain) return;
    throw Error(
        "variable '{}': sharded over a group of replicas, another one is needed as what it is updated with "
        "has",
        graph_[member].name);
  }
  bool is_in_parts(ValueId id) { return domain_of_family_.contains(families_.find(at(id))); }

  // Which ops compute on parts; what is reduced and read by those alone is scattered.
  void decide() {
    std::set<ValueId> read_whole;
    for (const Op& op : graph_.ops) {
      if (computes_by_element(op) && is_in_parts(op.outputs[0])) {
        on_parts_.emplace(op.outputs[0], domain_of_family_.at(families_.find(at(op.outputs[0]))));
      } else if (is_outer(op) && !adds_up_to_a_number(graph_, op)) {
        read_whole.insert(op.inputs.begin(), op.inputs.end());
      }
    }
    for (ValueId id : reduced_) {
      if (!is_in_parts(id) || read_whole.contains(id)) continue;
      std::erase(training_.reduced, id);
      if (!domains_.contains(id)) scattered_.emplace(id, domain_of_family_.at(families_.find(at(id))));
    }
    for (const Op& op : graph_.ops) {
      if (!is_outer(op) || !adds_up_to_a_number(graph_, op)) continue;
      for (const auto* parts : {&domains_, &scattered_, &on_parts_}) {
        const auto found = parts->find(op.inputs[0]);
        if (found != parts->end()) sums_.emplace(op.outputs[0], found->second);
      }
    }
  }

  void rewrite(Op op, const OpPlacement& placement) {
    const Place place{placement, is_outer(op)};
    for (ValueId id : op.outputs) {
      if (id.valid()) made_at_.emplace(id, place);
    }
    const ValueId made = op.outputs.empty() ? ir::kNoValue : op.outputs[0];
    if (const auto found = on_parts_.find(made); found != on_parts_.end()) {
      const bool shares = !place.outer && reads_velocity(op);
      for (ValueId& id : op.inputs) {
        const bool is_added = shares && !parts_.contains(id);
        id = part(id, found->second, place);
        if (is_added) id = times(id, 1.0 / sharing(found->second), place);
      }
      make_part(made, found->second.group);
      add(std::move(op), place);
    } else if (const auto sum = sums_.find(made); sum != sums_.end()) {
      add_sum(std::move(op), sum->second, place);
    } else {
      for (ValueId& id : op.inputs) id = whole(id, place);
      add(std::move(op), place);
    }
  }

  // Every replica adds up its part, then the replicas their sums.
  void add_sum(Op op, const Domain& domain, const Place& place) {
    const ValueId sum = op.outputs[0];
    op.inputs = {part(op.inputs[0], domain, place)};
    ir::remove_attribute(op, "noop_with_empty_axes");
    op.outputs[0] = graph_.add_value(graph_.fresh_name(graph_[sum].name), graph_[sum].type);
    const ValueId of_part = op.outputs[0];
    add(std::move(op), place);
    add_collective(CollectiveKind::AllReduce, CollectiveReduction::Add, domain.group, of_part, sum, place);
  }

  void finish(std::size_t output) {
    ValueId& value = graph_.outputs[output];
    const auto variable = becomes_.find(output);
    const auto domain = variable == becomes_.end() ? domains_.end() : domains_.find(variable->second);
    const Place place = made_at_.at(value);
    if (domain != domains_.end()) {
      value = part(value, domain->second, place);
      return;
    }
    const std::string name = graph_[value].name;  // by which the host knows it
    value = whole(value, place);
    graph_[value].name = name;
  }

  void add(Op op, const Place& place) {
    graph_.ops.push_back(std::move(op));
    placement_.ops.push_back(place.placement);
  }
  void add_collective(CollectiveKind kind, CollectiveReduction reduction, const ir::ReplicaGroup& group,
                      ValueId from, ValueId to, const Place& place) {
    Op op = collective_op(kind, reduction, group, from, to);
    if (place.outer) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
    add(std::move(op), place);
  }

  void make_part(ValueId id, const ir::ReplicaGroup& group) {
    ir::Type& type = graph_[id].type;
    parts_.emplace(id, WholeTensor{type, group});
    type.dims = {elements_of_part(type, group)};
  }
  std::int64_t elements_of_part(const ir::Type& whole, const ir::ReplicaGroup& group) const {
    const std::int64_t replicas = size_of(group);
    return (whole.element_count() + replicas - 1) / replicas;
  }

  // Of one value there is one part, or one whole tensor, for all ops that run together.
  using Key = std::tuple<ValueId, int, int, int, bool>;
  static Key key(ValueId id, const Place& place) {
    return {id, place.placement.processor, place.placement.stage, place.placement.phase, place.outer};
  }

  static std::tuple<ir::GroupType, int, bool> key(const Domain& domain) {
    return {domain.group.type, domain.group.size, domain.is_shared_across};
  }

  ValueId whole(ValueId given, const Place& place) {
    const ValueId id = as_reduced(given, place);
    const auto part = parts_.find(id);
    if (part == parts_.end()) return id;
    const auto [entry, is_new] = gathered_.try_emplace(key(id, place));
    if (!is_new) return entry->second;
    const WholeTensor of = part->second;
    entry->second = graph_.add_value(graph_.fresh_name(graph_[id].name + "__g"), of.type);
    add_collective(CollectiveKind::AllGather, CollectiveReduction::Add, of.group, id, entry->second, place);
    return entry->second;
  }

  ValueId part(ValueId id, const Domain& domain, const Place& place) {
    if (parts_.contains(id)) return as_reduced(id, place);
    if (is_number(id)) return id;
    const auto [entry, is_new] = cut_.try_emplace({key(id, place), key(domain)});
    if (!is_new) return entry->second;
    const bool is_constant = graph_.is_constant(id);
    if (is_constant && is_all_zero(*graph_[id].constant)) return entry->second = zeros(id, domain.group);
    ValueId source = is_constant ? copied(id, place) : id;
    entry->second = graph_.add_value(graph_.fresh_name(graph_[id].name + "__s"), graph_[id].type);
    make_part(entry->second, domain.group);
    // What is added to an accumulator in parts is what one replica has seen, too.
    const bool reduces = scattered_.contains(id) || (!place.outer && !is_constant);
    const CollectiveReduction mean_or_sum =
        training_.reduces_by_mean ? CollectiveReduction::Mean : CollectiveReduction::Add;
    if (const auto others = across(domain); reduces && others)
      source = reduced_across(source, *others, mean_or_sum, place);
    add_collective(CollectiveKind::ReduceScatter, reduces ? mean_or_sum : CollectiveReduction::Local,
                   domain.group, source, entry->second, place);
    return entry->second;
  }
  // Whole velocities are added up with the gradients in them, and the next update starts from a share of the
  // sum. One in parts has the gradients of all replicas already, so it gets shares of these, and updates read
  // it as often as there are replicas.
  bool reads_velocity(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(),
                       [&](ValueId id) { return velocities_.contains(id); });
  }
  ValueId as_reduced(ValueId id, const Place& place) {
    if (!place.outer || !velocities_.contains(id)) return id;
    const auto [entry, is_new] = reduced_velocities_.try_emplace(key(id, place));
    if (is_new) entry->second = times(id, sharing(domains_.at(id)), place);
    return entry->second;
  }
  ValueId times(ValueId id, double factor, const Place& place) {
    const ir::Value value = graph_[id];
    const ValueId number =
        graph_.add_constant(graph_.fresh_name("replicas"), ir::filled(value.type.element, {}, factor));
    const ValueId product = graph_.add_value(graph_.fresh_name(value.name), value.type);
    if (const auto whole = parts_.find(id); whole != parts_.end())
      parts_.emplace(product, WholeTensor(whole->second));
    Op op{.spec = ir::find_op("", "Mul"), .inputs = {id, number}, .outputs = {product}};
    if (place.outer) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
    add(std::move(op), place);
    return product;
  }
  // How many replicas reduce what is added to a tensor in such parts.
  int sharing(const Domain& domain) const { return across(domain) ? replicas_ : size_of(domain.group); }
  int size_of(const ir::ReplicaGroup& group) const {
    return static_cast<int>(executor::replica_groups(group, replicas_).front().size());
  }
  // The groups of replicas that hold the same part of a variable that they share.
  std::optional<ir::ReplicaGroup> across(const Domain& domain) const {
    const int size = size_of(domain.group);
    if (size == replicas_ || !domain.is_shared_across) return std::nullopt;
    const bool strided = domain.group.type == ir::GroupType::Consecutive;
    return ir::ReplicaGroup{strided ? ir::GroupType::Orthogonal : ir::GroupType::Consecutive,
                            replicas_ / size};
  }
  ValueId reduced_across(ValueId id, const ir::ReplicaGroup& group, CollectiveReduction reduction,
                         const Place& place) {
    const ValueId sum = graph_.add_value(graph_.fresh_name(graph_[id].name), graph_[id].type);
    add_collective(CollectiveKind::AllReduce, reduction, group, id, sum, place);
    return sum;
  }
  ValueId zeros(ValueId id, const ir::ReplicaGroup& group) {
    const ir::Type type = graph_[id].type;
    return graph_.add_constant(graph_.fresh_name(graph_[id].name),
                               ir::filled(type.element, {elements_of_part(type, group)}, 0));
  }
  ValueId copied(ValueId id, const Place& place) {
    const ValueId copy = graph_.add_value(graph_.fresh_name(graph_[id].name), graph_[id].type);
    Op op{.spec = ir::find_op("", "Identity"), .inputs = {id}, .outputs = {copy}};
    if (place.outer) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
    add(std::move(op), place);
    return copy;
  }

  ir::Training& training_;
  ir::Graph& graph_;
  ir::Placement& placement_;
  int replicas_;
  /// Values of one shape that ops compute with element by element: all of them are parts, or none.
  ir::DisjointSets families_;
  std::map<ValueId, Domain> domains_;       ///< of sharded variables
  std::set<ValueId> accumulated_;           ///< sharded accumulators, and what adds to them
  std::set<ValueId> velocities_;            ///< sharded state that micro-batches add to
  std::map<std::size_t, ValueId> becomes_;  ///< per update's output, the variable
  std::set<ValueId> reduced_;
  std::map<std::size_t, Domain> domain_of_family_;  ///< of families that are parts
  std::map<ValueId, Domain> on_parts_;              ///< what ops make of parts
  std::map<ValueId, Domain> sums_;                  ///< over parts
  std::map<ValueId, Domain> scattered_;             ///< of reduced_
  std::map<ValueId, Place> made_at_;
  Parts parts_;
  std::map<Key, ValueId> gathered_;
  std::map<std::pair<Key, std::tuple<ir::GroupType, int, bool>>, ValueId> cut_;
  std::map<Key, ValueId> reduced_velocities_;
};

}  // namespace

Parts shard_variables(ir::Training& training, ir::Placement& placement,
                      const std::map<std::string, ir::TensorLocation>& locations, int replicas) {
  return Sharder(training, placement, locations, replicas).run();
}

}  // namespace podium::lower
