// Boxes of a tensor: by axis, some of the indices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/index_range.h"
#include "ir/type.h"

namespace podium::ir {

/// The indices along each axis, in ascending ranges that do not touch; none: an empty box.
using Box = std::vector<std::vector<IndexRange>>;

std::int64_t elements_of(const Box& box);
/// Appends indices behind the ranges; those that touch the last ones prolong them, and none are left out.
void append(std::vector<IndexRange>& ranges, IndexRange more);
/// How many indices the ranges have.
std::int64_t length(const std::vector<IndexRange>& ranges);
/// All of a tensor.
Box whole_box(const Dims& dims);
/// Each range of the inner box lies within one of the outer.
bool contains(const Box& outer, const Box& inner);
/// How many elements are in both.
std::int64_t common_elements(const Box& a, const Box& b);
/// Some element is in both.
bool meet(const Box& a, const Box& b);
/// Where the indices of `inner` lie among those of `outer`, which contains them.
std::vector<IndexRange> places_in(const std::vector<IndexRange>& outer, const std::vector<IndexRange>& inner);
/// The reverse: the indices that lie at some places of `outer`.
std::vector<IndexRange> indices_at(const std::vector<IndexRange>& outer,
                                   const std::vector<IndexRange>& places);
/// The shape of what a box holds.
Dims dims_of(const Box& box);
/// "[0:2, 0:4]", and "[0:2+4:6, :]" where an axis has several ranges; a whole axis of `dims` is ":".
std::string to_string(const Box& box, std::span<const std::int64_t> dims);

/// Where the elements of a box begin in a tensor of shape `dims`, if they follow each other there.
std::optional<std::int64_t> only_run(std::span<const std::int64_t> dims, const Box& box);

/// Calls `visit` with where each run of a box begins in a tensor of shape `dims`, in elements, and with how
/// many elements it has. Axes behind which the box has all of the tensor are part of one run.
template <class Visit>
void for_each_run(std::span<const std::int64_t> dims, const Box& box, const Visit& visit) {
  std::size_t axes = box.size();  // in front of the run's own elements
  std::int64_t inner = 1;
  for (; axes > 0 && box[axes - 1] == std::vector<IndexRange>{{0, dims[axes - 1]}}; --axes)
    inner *= dims[axes - 1];
  const auto walk = [&](auto&& self, std::size_t axis, std::int64_t offset) -> void {
    if (axis == axes) return visit(offset * inner, inner);
    for (const IndexRange& range : box[axis]) {
      const std::int64_t first = offset * dims[axis] + range.begin;
      const std::int64_t count = range.end - range.begin;
      if (axis + 1 == axes) {
        visit(first * inner, count * inner);
      } else {
        for (std::int64_t i = 0; i < count; ++i) self(self, axis + 1, first + i);
      }
    }
  };
  walk(walk, 0, 0);
}

}  // namespace podium::ir
