// For each group of weights: squares are summed up where each gradient is made, the sums are added up where
// the group's first gradient is made, and every gradient becomes gradient * limit / max(limit, norm). The
// loss scale is taken out of the norm, not of the gradients.
#include "ir/passes/clip_norm.h"

#include <algorithm>
#include <cmath>
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

// The sum of squares of each gradient, where the gradient is.
std::vector<ValueId> sums_of_squares(const std::vector<WeightUpdate*>& group) {
  std::vector<ValueId> squares;
  for (WeightUpdate* update : group) {
    const auto scope = update->builder.at(update->place, Context::Update);
    const Term gradient = cast_to(type_of_norm(*update), update->gradient);
    const Term square = gradient.call("ReduceSumSquare", {{"keepdims", std::int64_t{0}}});
    squares.push_back(cast_to(type_of_norm(*group.front()), square));
  }
  return squares;
}

// Computed where the first of the group's gradients is.
Term norm_of(const std::vector<WeightUpdate*>& group, const std::string& name_of_norm) {
  const WeightUpdate& first = *group.front();
  UpdateBuilder& builder = first.builder;
  const DataType type = type_of_norm(first);
  const std::vector<ValueId> squares = sums_of_squares(group);
  const auto scope = builder.at(first.place, Context::Update);
  const Term sum =
      builder.term_of(squares.size() == 1 ? squares[0] : first.gradient.builder->call("Sum", squares));
  Term norm = sum.call("Sqrt") * builder.scalar(kGradientScale, first.weight, type);
  if (builder.inverse_scale) norm = norm * cast_to(type, *builder.inverse_scale);
  builder.training.graph[norm].name = name_of_norm;
  return norm;
}

// What the gradients of the group are multiplied by, where the norm is.
Term factor_of(const std::vector<WeightUpdate*>& group, double max_norm, Term norm) {
  const WeightUpdate& first = *group.front();
  const auto scope = first.builder.at(first.place, Context::Update);
  const Term limit = first.builder.number(max_norm, type_of_norm(first));
  return limit / limit.with("Max", norm);
}

}  // namespace

void clip_by_norm(std::span<WeightUpdate> updates) {
  if (updates.empty()) return;
  const std::vector<ClipNorm>& groups = updates.front().builder.optimizer.clip_norms;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<WeightUpdate*> group = members(groups[i], updates);
    check_shared_alike(group);
    const Term norm = norm_of(group, fmt::format("GlobalNorm___{}", i));
    if (std::isinf(groups[i].max_norm)) continue;  // an anchor may show it all the same
    const Term factor = factor_of(group, groups[i].max_norm, norm);
    for (WeightUpdate* update : group) {
      const auto scope = update->builder.at(update->place, Context::Update);
      update->gradient = update->gradient * cast_to(update->type, factor);
    }
  }
}

}  // namespace podium::ir
