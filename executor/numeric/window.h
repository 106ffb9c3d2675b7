// The sliding window of a convolution or pool, with everything that ONNX leaves to defaults made explicit.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

struct Window {
  ir::Dims kernel;
  ir::Dims strides;
  ir::Dims pads;  ///< begins, then ends
  ir::Dims dilations;
};

/// `x` and `y`: channels-first dims of the input and output, which decide what auto_pad and ceil_mode mean.
Window window_of(const ir::Op& op, const ir::Dims& kernel, const ir::Dims& x, const ir::Dims& y);

}  // namespace podium::numeric
