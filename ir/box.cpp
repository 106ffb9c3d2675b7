#include "ir/box.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace podium::ir {
namespace {

using Ranges = std::vector<IndexRange>;

bool contains(const Ranges& outer, const IndexRange& range) {
  return std::ranges::any_of(
      outer, [&](const IndexRange& one) { return one.begin <= range.begin && range.end <= one.end; });
}

std::int64_t common_indices(const Ranges& a, const Ranges& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    count += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    a[i].end < b[j].end ? ++i : ++j;
  }
  return count;
}

}  // namespace

void append(Ranges& ranges, IndexRange more) {
  if (more.begin == more.end) return;
  if (!ranges.empty() && ranges.back().end == more.begin) {
    ranges.back().end = more.end;
  } else {
    ranges.push_back(more);
  }
}

std::int64_t length(const Ranges& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const IndexRange& one) { return sum + one.end - one.begin; });
}

Box whole_box(const Dims& dims) {
  Box box;
  for (std::int64_t dim : dims) box.push_back({{0, dim}});
  return box;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t axis = 0; axis < outer.size(); ++axis) {
    for (const IndexRange& range : inner[axis]) {
      if (!contains(outer[axis], range)) return false;
    }
  }
  return true;
}

std::int64_t common_elements(const Box& a, const Box& b) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < a.size(); ++axis) count *= common_indices(a[axis], b[axis]);
  return count;
}

bool meet(const Box& a, const Box& b) { return common_elements(a, b) > 0; }

Ranges places_in(const Ranges& outer, const Ranges& inner) {
  Ranges places;
  for (const IndexRange& range : inner) {
    std::int64_t before = 0;
    for (const IndexRange& own : outer) {
      if (own.begin <= range.begin && range.end <= own.end) {
        append(places, {before + range.begin - own.begin, before + range.end - own.begin});
        break;
      }
      before += own.end - own.begin;
    }
  }
  return places;
}

Ranges indices_at(const Ranges& outer, const Ranges& places) {
  Ranges indices;
  for (const IndexRange& place : places) {
    std::int64_t before = 0;
    for (const IndexRange& own : outer) {
      const std::int64_t begin = std::max(place.begin - before, std::int64_t{0}) + own.begin;
      const std::int64_t end = std::min(place.end - before + own.begin, own.end);
      if (begin < end) append(indices, {begin, end});
      before += own.end - own.begin;
    }
  }
  return indices;
}

std::optional<std::int64_t> only_run(std::span<const std::int64_t> dims, const Box& box) {
  std::optional<std::int64_t> begin;
  std::int64_t end = 0;
  bool follows = true;
  for_each_run(dims, box, [&](std::int64_t first, std::int64_t count) {
    follows = follows && (!begin || first == end);
    if (!begin) begin = first;
    end = first + count;
  });
  return follows ? begin : std::nullopt;
}

Dims dims_of(const Box& box) {
  Dims dims;
  for (const Ranges& ranges : box) dims.push_back(length(ranges));
  return dims;
}

std::int64_t elements_of(const Box& box) {
  std::int64_t elements = 1;
  for (const Ranges& ranges : box) elements *= length(ranges);
  return elements;
}

std::string to_string(const Box& box, std::span<const std::int64_t> dims) {
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    if (box[axis] == Ranges{{0, dims[axis]}}) {
      axes.emplace_back(":");
      continue;
    }
    std::vector<std::string> ranges;
    for (const IndexRange& range : box[axis]) ranges.push_back(fmt::format("{}:{}", range.begin, range.end));
    axes.push_back(ranges.empty() ? "none" : fmt::format("{}", fmt::join(ranges, "+")));
  }
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

}  // namespace podium::ir
