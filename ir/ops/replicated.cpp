// Ops between replicas, of PopART's Replicated family (semantics, section 11.1), and between the processors
// of a replica. Domain "podium": the importer has turned every reduction but sums into the former, the latter
// are what partition appends.
#include "ir/ops/replicated.h"

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/group_exchange.h"

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

// ---- between the processors of a replica

void infer_group_all_reduce(InferContext& context) {
  for (std::size_t i = 0; i < context.output_types.size(); ++i)
    context.set_output(i, context.element(0), context.dims(0));
}

void infer_group_reduce_scatter(InferContext& context) {
  const auto axis = static_cast<std::size_t>(context.get_int("axis"));
  const IntList& sizes = attribute<IntList>(context.op, kGroupSizes);
  for (std::size_t i = 0; i < context.output_types.size(); ++i) {
    Dims dims = context.dims(0);
    dims[axis] = sizes[i];
    context.set_output(i, context.element(0), std::move(dims));
  }
}

void infer_group_all_gather(InferContext& context) {
  const auto axis = static_cast<std::size_t>(context.get_int("axis"));
  Dims dims = context.dims(0);
  for (std::size_t i = 1; i < context.input_types.size(); ++i) dims[axis] += context.dims(i)[axis];
  for (std::size_t i = 0; i < context.output_types.size(); ++i)
    context.set_output(i, context.element(0), dims);
}

void infer_group_all_to_all(InferContext& context) {
  const auto axis = static_cast<std::size_t>(context.get_int("axis"));
  const auto scatter_axis = static_cast<std::size_t>(context.get_int(kGroupScatterAxis));
  const IntList& sizes = attribute<IntList>(context.op, kGroupSizes);
  Dims dims = context.dims(0);
  for (std::size_t i = 1; i < context.input_types.size(); ++i) dims[axis] += context.dims(i)[axis];
  for (std::size_t i = 0; i < context.output_types.size(); ++i) {
    dims[scatter_axis] = sizes[i];
    context.set_output(i, context.element(0), dims);
  }
}

// `random` keeps it where it is: what runs on other processors is not known to be the same.
OpSpec group_op(std::string_view name, TypeSet types, InferFunction infer,
                std::vector<AttributeSpec> attributes) {
  attributes.push_back(must_have(kGroupProcessors, AttributeKind::Ints));
  return {.name = name,
          .domain = "podium",
          .inputs = {{"X", 'T', Formal::Variadic}},
          .outputs = {{"Y", 'T', Formal::Variadic}},
          .types = {{'T', types}},
          .attributes = std::move(attributes),
          .infer = infer,
          .work = work_of_moving,
          .random = true,
          .no_gradient = "tensors are cut over devices behind derivatives",
          .refuses_gradient = true};
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

bool exchanges_in_group(const Op& op) {
  return op.spec->domain == "podium" && op.spec->name.starts_with("Group") &&
         find_attribute(op, kGroupProcessors) != nullptr;
}

std::span<const std::int64_t> group_processors(const Op& op) {
  if (!exchanges_in_group(op)) return {};
  return attribute<IntList>(op, kGroupProcessors);
}

int group_processor(const Op& op, std::size_t member) {
  return static_cast<int>(attribute<IntList>(op, kGroupProcessors).at(member));
}

bool reduces_to_largest(const Op& op) {
  const auto* word = attribute_if<std::string>(op, kGroupReduction);
  return word != nullptr && *word == "max";
}

std::span<const OpSpec> replicated_ops() {
  const AttributeSpec axis = must_have("axis", AttributeKind::Int);
  const AttributeSpec reduction = with_default(kGroupReduction, std::string("sum"));
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = "what is exchanged are whole micro-batches"},
             {
                 replicated_op("ReplicatedAllGather", kNumeric | kBool, infer_all_gather),
                 reducing(replicated_op("ReplicatedAllReduce", kNumeric, same_as_input)),
                 reducing(replicated_op("ReplicatedReduceScatter", kNumeric | kBool, infer_reduce_scatter)),
                 group_op(kGroupAllGather, kNumeric | kBool, infer_group_all_gather, {axis}),
                 group_op(kGroupAllReduce, kNumeric, infer_group_all_reduce, {reduction}),
                 group_op(kGroupAllToAll, kNumeric | kBool, infer_group_all_to_all,
                          {axis, must_have(kGroupScatterAxis, AttributeKind::Int),
                           must_have(kGroupSizes, AttributeKind::Ints)}),
                 group_op(kGroupReduceScatter, kNumeric, infer_group_reduce_scatter,
                          {axis, reduction, must_have(kGroupSizes, AttributeKind::Ints)}),
             });
  return kRows;
}

}  // namespace podium::ir
