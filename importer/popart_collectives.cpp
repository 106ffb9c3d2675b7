// PopART's ops between replicas (domain ai.graphcore). Sums and means go over the replicas as such. Any other
// reduction gathers what all replicas of the group hold, [members, ...], and each replica reduces it; what is
// scattered of that is a replica's own part of the result.
#include <array>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"
#include "ir/ops/replicated.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::GroupType;
using ir::IntList;
using ir::ValueId;

// In the order in which PopART counts them.
enum class CollectiveOperator : std::uint8_t {
  Add,
  Mean,
  Mul,
  Min,
  Max,
  LogicalAnd,
  LogicalOr,
  SquareAdd,
  Local,
  kCount
};

CollectiveOperator take_operator(Rewrite& node) {
  constexpr auto kCount = static_cast<std::int64_t>(CollectiveOperator::kCount);
  const auto given = node.take_or<std::int64_t>("__collectiveOperator", 0);
  if (given < 0 || given >= kCount) {
    throw Error("__collectiveOperator is {}, 0 to {} needed", given, kCount - 1);
  }
  return static_cast<CollectiveOperator>(given);
}

std::vector<Attribute> group_attributes(GroupType type, std::int64_t size) {
  return {{std::string(ir::kReplicaGroup), static_cast<std::int64_t>(type)},
          {std::string(ir::kReplicaGroupSize), size}};
}

// Numbers of replicas, the distance between two of a group, and the size of a group.
std::vector<Attribute> attributes_of_grouping(const IntList& grouping) {
  if (grouping.size() != 3) {
    throw Error("__collectiveReplicaGrouping has {} numbers, 3 needed: replicas, stride and group size",
                grouping.size());
  }
  const std::int64_t replicas = grouping[0];
  const std::int64_t stride = grouping[1];
  const std::int64_t size = grouping[2];
  if (replicas < 1 || size < 1 || replicas % size != 0) {
    throw Error(
        "__collectiveReplicaGrouping: groups of {} of {} replicas found, a size that divides them needed",
        size, replicas);
  }
  const std::int64_t groups = replicas / size;
  if (size > 1 && (stride < 1 || groups % stride != 0)) {
    throw Error(
        "__collectiveReplicaGrouping: stride {} found, a divisor of {} needed, the number of groups of {} of "
        "{} replicas",
        stride, groups, size, replicas);
  }
  // Groups that span all replicas have one name, whoever asks for them.
  const bool is_orthogonal = size > 1 && stride > 1 && stride == groups;
  std::vector<Attribute> attributes =
      group_attributes(is_orthogonal ? GroupType::Orthogonal : GroupType::Consecutive, size);
  if (size > 1 && !is_orthogonal) attributes.push_back({std::string(ir::kReplicaGroupStride), stride});
  attributes.push_back({std::string(ir::kOfReplicas), replicas});
  return attributes;
}

std::vector<Attribute> take_replica_group(Rewrite& node) {
  const auto group = node.take<IntList>("__collectiveCommGroup");
  const auto grouping = node.take<IntList>("__collectiveReplicaGrouping");
  if (group && grouping) {
    throw Error("__collectiveCommGroup and __collectiveReplicaGrouping found, one of them needed");
  }
  if (grouping) return attributes_of_grouping(*grouping);
  if (!group || group->empty()) return group_attributes(GroupType::All, 0);
  if (group->size() != 2) {
    throw Error("__collectiveCommGroup has {} numbers, 2 needed: type and size", group->size());
  }
  constexpr auto kTypes = static_cast<std::int64_t>(GroupType::None) + 1;
  const std::int64_t type = (*group)[0];
  if (type < 0 || type >= kTypes) {
    throw Error("__collectiveCommGroup is of type {}, 0 to {} needed", type, kTypes - 1);
  }
  return group_attributes(static_cast<GroupType>(type), (*group)[1]);
}

std::vector<Attribute> reducing_by(std::vector<Attribute> group, std::string_view word) {
  group.push_back({"reduction", std::string(word)});
  return group;
}

// One axis, with what all replicas hold.
ValueId gathered(Rewrite& node, ValueId value, const std::vector<Attribute>& group) {
  return node.before("ReplicatedAllGather", {reshaped(node, value, {-1})}, group);
}

// What each replica makes of the tensors of all.
ValueId reduced_here(Rewrite& node, std::string_view reduction, const std::vector<Attribute>& group) {
  const ValueId x = node.input(0);
  const ValueId shape = joined(node, {node.ints({-1}), node.before("Shape", {x})});
  const ValueId all = node.before("Reshape", {gathered(node, x, group), shape});
  return node.before(reduction, {all, node.ints({0})}, {{"keepdims", std::int64_t{0}}});
}

// The ONNX op by which each replica reduces what it has gathered; empty where replicas add up.
std::string_view local_reduction(Rewrite& node, CollectiveOperator by) {
  switch (by) {
    case CollectiveOperator::Mul:
      return "ReduceProd";
    case CollectiveOperator::Min:
      return "ReduceMin";
    case CollectiveOperator::Max:
      return "ReduceMax";
    case CollectiveOperator::LogicalAnd:
    case CollectiveOperator::LogicalOr: {
      const ir::DataType type = node.type_of(node.input(0)).element;
      if (type != ir::DataType::Undefined && type != ir::DataType::Bool) {
        throw Error("input 0 is of type {}, bool needed by a logical __collectiveOperator", name_of(type));
      }
      return by == CollectiveOperator::LogicalAnd ? "ReduceMin" : "ReduceMax";
    }
    default:
      return "";
  }
}

void replicated_all_reduce(Rewrite& node) {
  const CollectiveOperator by = take_operator(node);
  const std::vector<Attribute> group = take_replica_group(node);
  const ValueId x = node.input(0);
  const std::string_view reduction = local_reduction(node, by);
  if (!reduction.empty()) return node.result(0, "Identity", {reduced_here(node, reduction, group)});
  if (by == CollectiveOperator::Local) return node.result(0, "Identity", {x});
  const bool squares = by == CollectiveOperator::SquareAdd;
  node.result(0, "ReplicatedAllReduce", {squares ? node.before("Mul", {x, x}) : x},
              reducing_by(group, by == CollectiveOperator::Mean ? "mean" : "sum"));
}

// Whether the part is one of sharded state says where PopART keeps it, not what it is.
void replicated_reduce_scatter(Rewrite& node) {
  node.drop("__replicatedTensorSharding");
  const CollectiveOperator by = take_operator(node);
  const std::vector<Attribute> group = take_replica_group(node);
  const ValueId x = node.input(0);
  const auto scatter = [&](ValueId whole, std::string_view word) {
    node.result(0, "ReplicatedReduceScatter", {whole}, reducing_by(group, word));
  };
  const std::string_view reduction = local_reduction(node, by);
  if (!reduction.empty()) return scatter(reduced_here(node, reduction, group), "local");
  if (by == CollectiveOperator::SquareAdd) return scatter(node.before("Mul", {x, x}), "sum");
  scatter(x, by == CollectiveOperator::Add ? "sum" : by == CollectiveOperator::Mean ? "mean" : "local");
}

void replicated_all_gather(Rewrite& node) {
  node.drop("__replicatedTensorSharding");
  const std::vector<Attribute> group = take_replica_group(node);
  node.result(0, "ReplicatedAllGather", {reshaped(node, node.input(0), {-1})}, group);
}

}  // namespace

// The second input of each, where there is one, links collectives that are to share a layout.
std::span<const ForeignOp> popart_collectives() {
  static constexpr std::array kTable{
      popart_op("ReplicatedAllGather", replicated_all_gather, 1, 2),
      popart_op("ReplicatedAllReduce", replicated_all_reduce, 1, 2),
      popart_op("ReplicatedAllReduceInplace", replicated_all_reduce, 1, 2),
      popart_op("ReplicatedReduceScatter", replicated_reduce_scatter, 1, 2),
  };
  return kTable;
}

}  // namespace podium::importer
