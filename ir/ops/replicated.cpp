// Ops between replicas, of PopART's Replicated family (semantics, section 11.1). Domain "podium": the
// importer has turned every reduction but sums into these.
#include "ir/ops/replicated.h"

#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

void infer_reduce_scatter(InferContext& context) {
  const std::optional<std::int64_t> members = group_members(context.op);
  const std::int64_t elements = context.input(0).element_count();
  const bool is_known = members && elements >= 0;
  context.set_output(0, context.element(0), {is_known ? (elements + *members - 1) / *members : kUnknown});
}

void infer_all_gather(InferContext& context) {
  if (context.has_rank(0) && context.dims(0).size() != 1) {
    throw Error("input is {}, one axis needed", to_string(context.input(0)));
  }
  const std::optional<std::int64_t> members = group_members(context.op);
  const std::int64_t elements = context.has_rank(0) ? context.dims(0)[0] : kUnknown;
  context.set_output(0, context.element(0), {members ? times(elements, *members) : kUnknown});
}

// `random` keeps all of them from being folded and from running twice: what a replica holds is not all that a
// result is made of.
OpSpec replicated_op(std::string_view name, TypeSet types, InferFunction infer) {
  return {.name = name,
          .domain = "podium",
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', types}},
          .attributes = {with_default(kReplicaGroup, std::int64_t{0}),
                         with_default(kReplicaGroupSize, std::int64_t{0}),
                         with_default(kReplicaGroupStride, std::int64_t{1}),
                         may_have(kOfReplicas, AttributeKind::Int), may_have(kMembers, AttributeKind::Int)},
          .infer = infer,
          .work = work_of_moving,
          .random = true};
}

OpSpec reducing(OpSpec row) {
  row.attributes.push_back(with_default("reduction", std::string("sum")));
  return row;
}

}  // namespace

bool exchanges_between_replicas(const Op& op) {
  return op.spec->domain == "podium" && op.spec->name.starts_with("Replicated");
}

ReplicaGroup replica_group(const Op& op) {
  return {static_cast<GroupType>(attribute<std::int64_t>(op, kReplicaGroup)),
          static_cast<int>(attribute<std::int64_t>(op, kReplicaGroupSize)),
          static_cast<int>(attribute<std::int64_t>(op, kReplicaGroupStride))};
}

std::optional<std::int64_t> group_members(const Op& op) {
  const auto* members = attribute_if<std::int64_t>(op, kMembers);
  return members == nullptr ? std::nullopt : std::optional(*members);
}

std::span<const OpSpec> replicated_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = "replicas exchange whole micro-batches"},
             {
                 replicated_op("ReplicatedAllGather", kNumeric | kBool, infer_all_gather),
                 reducing(replicated_op("ReplicatedAllReduce", kNumeric, same_as_input)),
                 reducing(replicated_op("ReplicatedReduceScatter", kNumeric | kBool, infer_reduce_scatter)),
             });
  return kRows;
}

}  // namespace podium::ir
