#include "ir/passes/clip_norm.h"

#include <algorithm>
#include <set>

namespace podium::ir {
namespace {

DataType type_of_norm(const WeightUpdate& update) {
  return update.type == DataType::Double ? DataType::Double : DataType::Float;
}

std::vector<WeightUpdate*> members(const ClipNorm& group, std::span<WeightUpdate> updates) {
  const std::set<std::string> names(group.weights.begin(), group.weights.end());
  std::vector<WeightUpdate*> found;
  for (WeightUpdate& update : updates) {
    if (names.empty() || names.contains(update.name)) found.push_back(&update);
  }
  return found;
}

// Replicas that know different gradients would give a weight that they share different lengths.
void check_shared_alike(const std::vector<WeightUpdate*>& group) {
  const Contributions& of = group.front()->builder.contributions;
  for (const WeightUpdate* update : group) {
    if (of.group_of(update->name) == of.group_of(group.front()->name)) continue;
    throw Error(
        "clip norm over weights '{}' and '{}': shared by different groups of replicas, one group needed",
        group.front()->name, update->name);
  }
}

// The sum of squares of each gradient where it is, and their sum where the first is.
Term sum_of_squares(const std::vector<WeightUpdate*>& group) {
  const WeightUpdate& first = *group.front();
  std::vector<ValueId> squares;
  for (WeightUpdate* update : group) {
    const Term gradient = cast_to(type_of_norm(*update), update->gradient);
    const Term square = gradient.call("ReduceSumSquare", {{"keepdims", std::int64_t{0}}});
    squares.push_back(cast_to(type_of_norm(first), square));
    update->builder.run_at(update->place, true);
  }
  return squares.size() == 1 ? first.builder.term_of(squares[0])
                             : first.builder.term_of(first.gradient.context->call("Sum", squares));
}

}  // namespace

void clip_by_norm(std::span<WeightUpdate> updates) {
  if (updates.empty()) return;
  UpdateBuilder& builder = updates.front().builder;
  const std::vector<ClipNorm>& groups = builder.optimizer.clip_norms;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<WeightUpdate*> group = members(groups[i], updates);
    check_shared_alike(group);
    const WeightUpdate& first = *group.front();
    const DataType type = type_of_norm(first);
    Term norm = sum_of_squares(group).call("Sqrt") * builder.scalar(kGradientScale, first.weight, type);
    if (builder.inverse_scale) norm = norm * cast_to(type, *builder.inverse_scale);
    builder.training.graph[norm].name = fmt::format("GlobalNorm___{}", i);
    const Term limit = builder.number(groups[i].max_norm, type);
    const Term factor = limit / limit.with("Max", norm);
    builder.run_at(first.place, true);
    for (WeightUpdate* update : group) {
      update->gradient = update->gradient * cast_to(update->type, factor);
      builder.run_at(update->place, true);
    }
  }
}

}  // namespace podium::ir
