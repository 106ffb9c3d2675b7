// Derivatives of exchanges between replicas, of the sum of what all replicas lose: what flows into a result
// is exchanged the other way.
#include <numeric>

#include "ir/gradients/families.h"
#include "ir/ops/replicated.h"

namespace podium::ir {
namespace {

ValueId exchanged(GradientContext& context, std::string_view type, std::vector<Attribute> attributes) {
  return context.builder.ops("podium", type, {context.output_gradient()}, 1, std::move(attributes))[0];
}

std::vector<Attribute> without_reduction(std::vector<Attribute> attributes) {
  std::erase_if(attributes, [](const Attribute& attribute) { return attribute.name == "reduction"; });
  return attributes;
}

void all_reduce_gradient(GradientContext& context) {
  context.set(0, exchanged(context, "ReplicatedAllReduce", context.op.attributes));
}

void all_gather_gradient(GradientContext& context) {
  context.set(0, exchanged(context, "ReplicatedReduceScatter", context.op.attributes));
}

// Of what a replica cut from its own tensor: its part where it came from among zeros. The rank of a replica
// is what it cuts from the ranks of all.
ValueId among_zeros(GradientContext& context) {
  const std::int64_t members = attribute<std::int64_t>(context.op, kMembers);
  IntList ranks(members);
  std::iota(ranks.begin(), ranks.end(), 0);
  const ValueId all = context.ints(ranks);
  const ValueId own =
      context.builder.ops("podium", context.op.spec->name, {all}, 1, context.op.attributes)[0];
  const ValueId is_own = context.call("Reshape", {context.call("Equal", {all, own}), context.ints({-1, 1})});
  const ValueId part = context.output_gradient();
  const ValueId parts = context.call("Where", {is_own, part, context.number(0, part)});
  return context.call("Reshape", {parts, context.ints({-1})});
}

// The parts put together, without what fills the last one.
void reduce_scatter_gradient(GradientContext& context) {
  const std::string& reduction = attribute<std::string>(context.op, "reduction");
  const ValueId parts = reduction == "local" ? among_zeros(context)
                                             : exchanged(context, "ReplicatedAllGather",
                                                         without_reduction(context.op.attributes));
  const std::int64_t elements = context.type(context.input(0)).element_count();
  if (elements < 0) throw NeedsRun("the size of what is scattered is not known");
  const ValueId whole = context.call("Slice", {parts, context.ints({0}), context.ints({elements})});
  const ValueId shaped = context.reshape_like(whole, context.input(0));
  if (reduction != "mean") return context.set(0, shaped);
  const auto members = static_cast<double>(attribute<std::int64_t>(context.op, kMembers));
  const Term sum = term(context, shaped);
  context.set(0, sum / sum.like(members));
}

}  // namespace

std::span<const GradientRow> replicated_gradients() {
  static constexpr GradientRow kRows[]{
      {"ReplicatedAllGather", all_gather_gradient, "podium"},
      {"ReplicatedAllReduce", all_reduce_gradient, "podium"},
      {"ReplicatedReduceScatter", reduce_scatter_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
