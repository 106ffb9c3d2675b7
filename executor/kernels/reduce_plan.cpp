#include "executor/kernels/reduce_plan.h"

#include <algorithm>

namespace podium::kernels {
namespace {

// Neighbouring axes that are all kept or all reduced.
struct Group {
  std::int64_t size = 1;
  bool is_reduced = false;
};

std::vector<Group> groups_of(const Dims& dims, const Dims& axes) {
  std::vector<Group> groups;
  for (std::int64_t axis = 0; axis < std::ssize(dims); ++axis) {
    if (dims[axis] == 1) continue;
    const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (groups.empty() || groups.back().is_reduced != is_reduced)
      groups.push_back({.is_reduced = is_reduced});
    groups.back().size *= dims[axis];
  }
  return groups;
}

// `offsets`, each followed by every step of an axis inside it.
std::vector<std::int64_t> extended(const std::vector<std::int64_t>& offsets, std::int64_t size,
                                   std::int64_t stride) {
  std::vector<std::int64_t> result;
  result.reserve(offsets.size() * size);
  for (std::int64_t offset : offsets) {
    for (std::int64_t i = 0; i < size; ++i) result.push_back(offset + i * stride);
  }
  return result;
}

}  // namespace

ReducePlan plan_reduce(const Dims& dims, const Dims& axes) {
  const std::vector<Group> groups = groups_of(dims, axes);
  ReducePlan plan{.kept = {0}, .reduced = {0}};
  std::int64_t stride = ir::element_count(dims);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    stride = group.size == 0 ? 0 : stride / group.size;
    if (group.is_reduced) plan.count *= group.size;
    if (i + 1 == groups.size()) {
      plan.run = group.size;
      plan.run_is_reduced = group.is_reduced;
    } else {
      auto& offsets = group.is_reduced ? plan.reduced : plan.kept;
      offsets = extended(offsets, group.size, stride);
    }
  }
  return plan;
}

Dims reduced_axes(std::int64_t rank, const Tensor* axes, bool noop_with_empty_axes) {
  Dims result;
  if (axes != nullptr) result = axes->to_ints();
  for (std::int64_t& axis : result) axis = ir::normalized_axis(axis, rank);
  if (!result.empty() || noop_with_empty_axes) return result;
  for (std::int64_t axis = 0; axis < rank; ++axis) result.push_back(axis);
  return result;
}

}  // namespace podium::kernels
