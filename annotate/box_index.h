// Finds the boxes that meet another one without comparing it with all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "annotate/op_cut.h"

namespace podium::annotate {

/// The boxes of devices, all of one tensor.
class BoxIndex {
 public:
  explicit BoxIndex(Boxes boxes);

  /// The devices whose boxes have an element of this one, ascending.
  std::vector<int> meeting(const Box& box) const;

 private:
  // From the first to the last index of a box along the axis of the index.
  struct Span {
    IndexRange indices;
    std::int64_t furthest = 0;  ///< end of this span and of all that begin before it
    int device = 0;
  };

  std::optional<IndexRange> span_of(const Box& box) const;

  Boxes boxes_;
  std::size_t axis_ = 0;     ///< along which the boxes begin at the most places
  std::vector<Span> spans_;  ///< by their begin
};

}  // namespace podium::annotate
