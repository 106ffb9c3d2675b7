// What Resize's inputs say about the sizes of its output, on paper and in the kernel.
#pragma once

#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace podium::ir {

/// One axis of X. Sizes that are not known yet are kUnknown.
struct ResizedAxis {
  std::int64_t input = 0;
  std::int64_t output = 0;
  double scale = 1;
};

/// One entry for each axis of x. `axes` are the axes that scales or sizes refer to, in their order; either
/// `scales` or `sizes` is nullptr. Error for sizes, scales or a policy that ONNX does not allow.
std::vector<ResizedAxis> resized_axes(const Dims& x, const Dims& axes,
                                      std::string_view keep_aspect_ratio_policy, const Tensor* scales,
                                      const Tensor* sizes);

}  // namespace podium::ir
