#include "annotate/group_exchanges.h"

#include <algorithm>
#include <map>
#include <optional>

#include "annotate/box_index.h"
#include "ir/disjoint_sets.h"

namespace podium::annotate {
namespace {

// The sets of devices of which each needs something of another.
std::vector<std::vector<int>> sets_of(const Boxes& have, Pieces pieces, const Boxes& wanted) {
  const int devices = static_cast<int>(have.size());
  ir::DisjointSets sets(devices);
  const BoxIndex index(have);
  std::map<Box, std::optional<int>> sources;  // of each box one: all of its sources are in one set
  for (int to = 0; to < devices; ++to) {
    if (!wanted[to]) continue;
    if (pieces == Pieces::Parts && have[to] && contains(*have[to], *wanted[to])) continue;
    const auto [source, is_new] = sources.try_emplace(*wanted[to]);
    if (is_new) {
      for (int from : index.meeting(*wanted[to])) {
        sets.join(from, to);
        source->second = from;
      }
    } else if (source->second) {
      sets.join(*source->second, to);
    }
  }
  std::map<std::size_t, std::vector<int>> found;
  for (int device = 0; device < devices; ++device) found[sets.find(device)].push_back(device);
  std::vector<std::vector<int>> several;
  for (auto& [name, members] : found) {
    if (members.size() > 1) several.push_back(std::move(members));
  }
  return several;
}

// The axis along which the boxes of the members follow each other and are the whole box together.
std::optional<std::int64_t> joined_along(const Boxes& boxes, const std::vector<int>& members,
                                         const Box& whole) {
  std::optional<std::int64_t> along;
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    if ((*boxes[members[0]])[axis] != whole[axis]) {
      if (along) return std::nullopt;
      along = std::int64_t(axis);
    }
  }
  if (!along || whole[*along].size() != 1) return std::nullopt;
  std::int64_t next = whole[*along][0].begin;
  for (int member : members) {
    Box part = *boxes[member];
    const Ranges own = part[*along];
    if (own.size() != 1 || own[0].begin != next || own[0].end <= next) return std::nullopt;
    next = own[0].end;
    part[*along] = whole[*along];
    if (part != whole) return std::nullopt;
  }
  return next == whole[*along][0].end ? along : std::nullopt;
}

// The smallest box around those of the members; nothing where one of them has a gap.
std::optional<Box> hull(const Boxes& boxes, const std::vector<int>& members) {
  Box around = *boxes[members[0]];
  for (int member : members) {
    const Box& box = *boxes[member];
    for (std::size_t axis = 0; axis < box.size(); ++axis) {
      if (box[axis].size() != 1 || around[axis].size() != 1) return std::nullopt;
      around[axis][0].begin = std::min(around[axis][0].begin, box[axis][0].begin);
      around[axis][0].end = std::max(around[axis][0].end, box[axis][0].end);
    }
  }
  return around;
}

std::optional<GroupExchange> all_to_all(const Boxes& have, const Boxes& wanted,
                                        const std::vector<int>& members) {
  const std::optional<Box> whole = hull(have, members);
  if (!whole || hull(wanted, members) != whole) return std::nullopt;
  const auto from = joined_along(have, members, *whole);
  const auto to = joined_along(wanted, members, *whole);
  if (!from || !to || *from == *to) return std::nullopt;
  return GroupExchange{ExchangeKind::AllToAll, *from, members, *to};
}

bool all_are(const Boxes& boxes, const std::vector<int>& members, const Box& box) {
  return std::ranges::all_of(members, [&](int member) { return *boxes[member] == box; });
}

std::optional<GroupExchange> exchange_of(const Boxes& have, Pieces pieces, const Boxes& wanted,
                                         const std::vector<int>& members) {
  const auto takes_part = [&](int member) { return have[member] && wanted[member]; };
  if (!std::ranges::all_of(members, takes_part)) return std::nullopt;
  const Box& first = *(pieces == Pieces::Parts ? wanted : have)[members[0]];
  if (pieces == Pieces::Parts) {
    if (!all_are(wanted, members, first)) return all_to_all(have, wanted, members);
    const auto axis = joined_along(have, members, first);
    if (!axis) return std::nullopt;
    return GroupExchange{ExchangeKind::AllGather, *axis, members};
  }
  if (!all_are(have, members, first)) return std::nullopt;
  if (all_are(wanted, members, first)) return GroupExchange{ExchangeKind::AllReduce, 0, members};
  const auto axis = joined_along(wanted, members, first);
  if (!axis) return std::nullopt;
  return GroupExchange{ExchangeKind::ReduceScatter, *axis, members};
}

}  // namespace

std::vector<GroupExchange> group_exchanges(const Boxes& have, Pieces pieces, const Boxes& wanted) {
  std::vector<GroupExchange> found;
  for (const std::vector<int>& members : sets_of(have, pieces, wanted)) {
    if (auto exchange = exchange_of(have, pieces, wanted, members)) found.push_back(*std::move(exchange));
  }
  return found;
}

}  // namespace podium::annotate
