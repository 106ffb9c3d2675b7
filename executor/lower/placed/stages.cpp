#include "executor/lower/placed/stages.h"

#include <algorithm>
#include <numeric>

#include "ir/ops/group_exchange.h"

namespace podium::lower {
namespace {

constexpr int kNobody = -1;

// The first one of the processors that share stages with a processor, found by following smaller ones.
int first_of(const std::vector<int>& smaller, int processor) {
  while (smaller[processor] != processor) processor = smaller[processor];
  return processor;
}

std::vector<int> processors_of(const ir::Op& op, const ir::OpPlacement& place) {
  std::vector<int> processors{place.processor};
  for (std::int64_t member : ir::group_processors(op)) processors.push_back(static_cast<int>(member));
  return processors;
}

}  // namespace

int Groups::like(int processor, int group) const {
  const std::vector<int>& own = processors[of[processor]];
  const std::size_t place = std::ranges::find(own, processor) - own.begin();
  const std::vector<int>& others = processors[group];
  return place < others.size() ? others[place] : others[0];
}

Groups find_groups(const PlacedGraph& placed) {
  const ir::Placement& placement = placed.placement;
  std::vector<int> smaller(std::max(placement.processors, 1));
  std::iota(smaller.begin(), smaller.end(), 0);
  std::vector<int> first_on(placement.stages, kNobody);
  for (ir::OpId id : placed.graph().op_ids()) {
    for (int processor : processors_of(placed.graph()[id], placed[id])) {
      for (int next = std::ssize(smaller); next <= processor; ++next) smaller.push_back(next);
      int& first = first_on.at(placed[id].stage);
      if (first == kNobody) first = processor;
      const int one = first_of(smaller, first);
      const int other = first_of(smaller, processor);
      smaller[std::max(one, other)] = std::min(one, other);
    }
  }
  Groups groups;
  for (int processor = 0; processor < std::ssize(smaller); ++processor) {
    const int first = first_of(smaller, processor);
    if (first == processor) groups.processors.emplace_back();
    groups.of.push_back(first == processor ? groups.count() - 1 : groups.of[first]);
    groups.processors[groups.of.back()].push_back(processor);
  }
  return groups;
}

Stages merge_stages(const PlacedGraph& placed) {
  const ir::Placement& placement = placed.placement;
  Stages stages{.groups = find_groups(placed)};
  std::vector<int> found(placement.stages, kNobody);
  for (const ir::OpPlacement& op : placement.ops) found[op.stage] = stages.groups.of[op.processor];
  for (int group : found) {
    if (group != kNobody && (stages.group.empty() || stages.group.back() != group))
      stages.group.push_back(group);
    stages.merged.push_back(stages.count() - 1);
  }
  // Without ops there is one stage, for what lowering adds.
  if (stages.group.empty()) {
    stages.merged.assign(found.size(), 0);
    stages.group = {0};
  }
  return stages;
}

}  // namespace podium::lower
