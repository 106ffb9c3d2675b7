// The graph is written anew, op by op. An op that the plan has compute on parts gets the part of each of its
// inputs, any other op gets whole tensors; both are made at their first use in a place (one value has one
// part and one whole tensor for all ops that run together there):
//
//   part of      a part                what it is
//                a number              the number
//                zeros                 fewer zeros
//                what is reduced       ReduceScatter over the replicas of the part; where others hold the
//                same
//                                      part and share the variable, AllReduce over those first
//                anything else         a ReduceScatter that moves nothing: each replica cuts its own
//   whole of     a part                AllGather
//                anything else         what it is
//
// A sum over parts is an AllReduce of the sums. Outputs of the graph come in the end: a sharded variable's
// update is its part, what the host reads is whole.
#include "executor/lower/graph/shard_variables.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "executor/lower/graph/shard_plan.h"
#include "executor/lower/graph/zeros.h"
#include "executor/lower/placed/locations.h"
#include "executor/lower/program/split_collectives.h"
#include "ir/gradients/gradient.h"

namespace podium::lower {

using executor::CollectiveKind;
using executor::CollectiveReduction;
using ir::Op;
using ir::OpPlacement;
using ir::ValueId;

namespace {

class Sharder {
 public:
  Sharder(PlacedGraph& placed, const ShardPlan& plan, int replicas)
      : placed_(placed), graph_(placed.graph()), plan_(plan), replicas_(replicas) {}

  Shards run() {
    std::erase_if(placed_.training.reduced, [&](ValueId id) { return plan_.reduced_in_parts.contains(id); });
    for (const auto& [variable, domain] : plan_.variables) make_part(variable, domain.group);
    for (PlacedOp& one : placed_.take_ops()) rewrite(std::move(one));
    for (int i = 0; i < std::ssize(graph_.outputs); ++i) finish(i);
    return std::move(shards_);
  }

 private:
  void rewrite(PlacedOp one) {
    Op& op = one.op;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) made_at_.emplace(op.outputs[i], one.place_of_output(i));
    }
    const ValueId made = op.outputs.empty() ? ir::kNoValue : op.outputs[0];
    if (const auto found = plan_.on_parts.find(made); found != plan_.on_parts.end()) {
      const bool shares = !one.is_outer() && reads_velocity(op);
      for (ValueId& id : op.inputs) {
        const bool is_added = shares && !shards_.contains(id);
        id = part(id, found->second, one.place);
        if (is_added) id = times(id, 1.0 / sharing(found->second), one.place);
      }
      if (shares) sums_in_velocities_.insert(made);
      make_part(made, found->second.group);
      placed_.append(std::move(op), one.place);
    } else if (const auto sum = plan_.sums.find(made); sum != plan_.sums.end()) {
      add_sum(std::move(op), sum->second, one.place);
    } else {
      for (std::size_t i = 0; i < op.inputs.size(); ++i)
        op.inputs[i] = whole(op.inputs[i], one.place_of_input(i));
      placed_.append(std::move(op), one.place);
    }
  }

  // Every replica adds up its part, then the replicas their sums.
  void add_sum(Op op, const ShardDomain& domain, const OpPlacement& place) {
    const ValueId sum = op.outputs[0];
    op.inputs = {part(op.inputs[0], domain, place)};
    ir::remove_attribute(op, "noop_with_empty_axes");
    const ValueId of_part = op.outputs[0] = another(sum);
    placed_.append(std::move(op), place);
    add_collective(CollectiveKind::AllReduce, CollectiveReduction::Add, domain.group, of_part, sum, place);
  }

  void finish(int place_in_outputs) {
    ValueId& output = graph_.outputs[place_in_outputs];
    const OpPlacement place = made_at_.at(output);
    if (const auto update = plan_.outputs.find(place_in_outputs); update != plan_.outputs.end()) {
      check_adds_to_part(place_in_outputs, output);
      output = part(output, update->second, place);
      return;
    }
    const std::string name = graph_[output].name;  // by which the host knows it
    output = whole(output, place);
    graph_[output].name = name;
  }

  // The replicas' own whole sums hold what all of them have added before: they cannot be added up once more.
  void check_adds_to_part(int place_in_outputs, ValueId output) const {
    for (const ir::Update& update : placed_.training.updates) {
      if (update.output != static_cast<std::size_t>(place_in_outputs) || update.outer) continue;
      IR_CHECK(shards_.contains(output), "micro-batches add to all of {}, of which replicas hold parts",
               graph_[update.variable].name);
    }
  }

  ValueId another(ValueId like) {
    const ir::Type type = graph_[like].type;
    return graph_.add_value(graph_.fresh_name(graph_[like].name), type);
  }
  void add_collective(CollectiveKind kind, CollectiveReduction reduction, const ir::ReplicaGroup& group,
                      ValueId from, ValueId to, const OpPlacement& place) {
    placed_.append(collective_op(kind, reduction, group, from, to), place);
  }

  void make_part(ValueId id, const ir::ReplicaGroup& group) {
    ir::Type& type = graph_[id].type;
    shards_.emplace(id, WholeTensor{type, group});
    type.dims = {elements_of_part(type, group)};
  }
  std::int64_t elements_of_part(const ir::Type& whole, const ir::ReplicaGroup& group) const {
    const std::int64_t replicas = executor::replica_group_size(group, replicas_);
    return (whole.element_count() + replicas - 1) / replicas;
  }

  // Of one value there is one part, or one whole tensor, for all ops that run together.
  using Key = std::tuple<ValueId, int, int, int, ir::Context>;
  static Key key(ValueId id, const OpPlacement& place) {
    return {id, place.processor, place.stage, place.phase, place.context};
  }
  using DomainKey = std::pair<ir::ReplicaGroup, bool>;
  static DomainKey key(const ShardDomain& domain) { return {domain.group, domain.is_shared_across}; }

  ValueId whole(ValueId given, const OpPlacement& place) {
    const ValueId id = as_reduced(given, place);
    const auto part = shards_.find(id);
    if (part == shards_.end()) return id;
    const auto [entry, is_new] = gathered_.try_emplace(key(id, place));
    if (!is_new) return entry->second;
    const WholeTensor of = part->second;
    entry->second = graph_.add_value(graph_.fresh_name(graph_[id].name + "__g"), of.type);
    add_collective(CollectiveKind::AllGather, CollectiveReduction::Add, of.group, id, entry->second, place);
    return entry->second;
  }

  ValueId part(ValueId id, const ShardDomain& domain, const OpPlacement& place) {
    if (shards_.contains(id)) return as_reduced(id, place);
    if (is_number(graph_, id)) return id;
    const auto [entry, is_new] = cut_.try_emplace({key(id, place), key(domain)});
    if (!is_new) return entry->second;
    const bool is_constant = graph_.is_constant(id);
    if (is_constant && is_all_zero(*graph_[id].constant)) return entry->second = zeros(id, domain.group);
    ValueId source = is_constant ? placed_.append_copy(id, graph_.fresh_name(graph_[id].name), place) : id;
    entry->second = graph_.add_value(graph_.fresh_name(graph_[id].name + "__s"), graph_[id].type);
    make_part(entry->second, domain.group);
    // What is added to an accumulator in parts is what one replica has seen, too.
    const bool is_update = place.context == ir::Context::Update;
    const bool reduces = plan_.scattered.contains(id) || (!is_update && !is_constant);
    const CollectiveReduction mean_or_sum =
        placed_.training.reduces_by_mean ? CollectiveReduction::Mean : CollectiveReduction::Add;
    if (const auto others = across(domain); reduces && others) {
      const ValueId sum = another(source);
      add_collective(CollectiveKind::AllReduce, mean_or_sum, *others, source, sum, place);
      source = sum;
    }
    add_collective(CollectiveKind::ReduceScatter, reduces ? mean_or_sum : CollectiveReduction::Local,
                   domain.group, source, entry->second, place);
    return entry->second;
  }
  // Whole velocities are added up with the gradients in them, and the next update starts from a share of the
  // sum. One in parts has the gradients of all replicas already, so it gets shares of these, and updates read
  // it as often as there are replicas. What a micro-batch makes of a velocity on the way to its sum, such as
  // the velocity in another type, is a velocity for what comes behind it.
  bool reads_velocity(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
      return plan_.velocities.contains(id) || sums_in_velocities_.contains(id);
    });
  }
  ValueId as_reduced(ValueId id, const OpPlacement& place) {
    if (place.context != ir::Context::Update || !plan_.velocities.contains(id)) return id;
    const auto [entry, is_new] = reduced_velocities_.try_emplace(key(id, place));
    if (is_new) entry->second = times(id, sharing(plan_.variables.at(id)), place);
    return entry->second;
  }
  ValueId times(ValueId id, double factor, const OpPlacement& place) {
    const ValueId number =
        graph_.add_constant(graph_.fresh_name("replicas"), ir::filled(graph_[id].type.element, {}, factor));
    const ValueId product = another(id);
    if (const auto whole = shards_.find(id); whole != shards_.end())
      shards_.emplace(product, WholeTensor(whole->second));
    placed_.append({.spec = ir::find_op("", "Mul"), .inputs = {id, number}, .outputs = {product}}, place);
    return product;
  }
  // How many replicas reduce what is added to a tensor in such parts.
  int sharing(const ShardDomain& domain) const {
    return across(domain) ? replicas_ : executor::replica_group_size(domain.group, replicas_);
  }
  // The groups of replicas that hold the same part of a variable that they share.
  std::optional<ir::ReplicaGroup> across(const ShardDomain& domain) const {
    const int size = executor::replica_group_size(domain.group, replicas_);
    if (size == replicas_ || !domain.is_shared_across) return std::nullopt;
    const bool strided = domain.group.type == ir::GroupType::Consecutive;
    return ir::ReplicaGroup{strided ? ir::GroupType::Orthogonal : ir::GroupType::Consecutive,
                            replicas_ / size};
  }
  ValueId zeros(ValueId id, const ir::ReplicaGroup& group) {
    const ir::Type type = graph_[id].type;
    return graph_.add_constant(graph_.fresh_name(graph_[id].name),
                               ir::filled(type.element, {elements_of_part(type, group)}, 0));
  }

  PlacedGraph& placed_;
  ir::Graph& graph_;
  const ShardPlan& plan_;
  int replicas_;
  std::map<ValueId, OpPlacement> made_at_;
  Shards shards_;
  std::map<Key, ValueId> gathered_;
  std::map<std::pair<Key, DomainKey>, ValueId> cut_;
  std::map<Key, ValueId> reduced_velocities_;
  std::set<ValueId> sums_in_velocities_;  ///< that micro-batches make of velocities
};

}  // namespace

Shards shard_variables(PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations,
                       int replicas) {
  const ShardPlan plan = plan_shards(placed, locations);
  if (plan.variables.empty()) return {};
  return Sharder(placed, plan, replicas).run();
}

}  // namespace podium::lower
