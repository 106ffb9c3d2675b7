// Which element of the input each element of a padded axis shows; for Pad's row and its kernel.
#pragma once

#include <string_view>

#include "ir/type.h"

namespace podium::ir {

/// Where an axis is cut and how far it is extended: negative pads cut.
struct AxisPads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// One for each of `rank` axes. `pads`: all begins, then all ends, of `axes`.
std::vector<AxisPads> pads_of(const Dims& pads, const Dims& axes, std::int64_t rank);

/// For each element of the padded axis, the index of the input element that it shows; -1 for the constant.
/// Modes are constant, reflect, edge and wrap; an element that a negative pad cuts off is not repeated.
Dims pad_map(std::int64_t dim, AxisPads pads, std::string_view mode);

}  // namespace podium::ir
