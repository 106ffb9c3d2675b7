// Which elements a Slice, Split or CenterCropPad takes; for their rows and their kernels.
#pragma once

#include <vector>

#include "ir/type.h"

namespace podium::ir {

/// Elements first, first + step, ... of one axis.
struct AxisSlice {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Slice's rule for one axis of `dim` elements: negative positions count from the end, and positions outside
/// are clamped to the axis. Error when step is 0.
AxisSlice axis_slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step);

/// One for each axis of `dims`. `axes` and `steps` may be empty: the first axes, steps of 1.
std::vector<AxisSlice> slices_of(const Dims& dims, const Dims& starts, const Dims& ends, const Dims& axes,
                                 const Dims& steps);

/// Sizes of the first ones of `parts` equal chunks of `dim`, the last ones smaller: 7 in 3 is 3, 3, 1.
Dims chunk_sizes(std::int64_t dim, std::int64_t parts, std::int64_t first);

}  // namespace podium::ir
