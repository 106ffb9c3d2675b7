// A window that slides along one axis, seen from its parts: which elements some of its windows read, and what
// an op that has these windows and elements alone says of its padding.
#pragma once

#include <optional>
#include <vector>

#include "ir/index_range.h"
#include "ir/infer.h"

namespace podium::ir {

/// Window o lies over the elements from o * stride - before to before o * stride - before + extent.
struct Slide {
  std::int64_t stride = 1;
  std::int64_t extent = 1;  ///< elements from the first to the last that one window sees
  std::int64_t before = 0;  ///< padding in front of the elements
  /// Padding behind them, where it may end before the last window does: that of a pool with ceil_mode.
  std::optional<std::int64_t> behind = {};
  std::int64_t elements = 0;
  std::int64_t windows = 0;

  /// From the first to the last element that these windows see; none where they see padding alone.
  IndexRange seen_by(const IndexRange& some) const;
  /// From the first to the last window that sees some of these elements, and where elements lie between
  /// windows the one before them.
  IndexRange windows_over(const IndexRange& some) const;
};

/// One for each spatial axis of a convolution, a pool over windows, or the gradient of one, whose types are
/// static; none of another op. A transposed convolution has its windows at its input.
std::vector<Slide> slides_of(const TypedOp& op);

/// A part of a slide.
struct PartOfSlide {
  IndexRange elements;
  IndexRange windows;
};

/// Gives an op that has these parts of its slides, one for each, the attributes with which it makes of them
/// what the whole op does: paddings in numbers, and sizes that are attributes.
void fit_slides(Op& op, const std::vector<Slide>& slides, const std::vector<PartOfSlide>& parts);

}  // namespace podium::ir
