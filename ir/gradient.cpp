#include "ir/gradient.h"

namespace podium::ir {

ValueId GradientContext::sum_to_shape_of(ValueId gradient, ValueId like) {
  const Dims from = builder.type(gradient).dims;
  const Dims to = builder.type(like).dims;
  if (from == to) return gradient;
  IntList axes;
  const std::size_t extra = from.size() - to.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < extra || (to[i - extra] == 1 && from[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  const ValueId sum = builder.op("ReduceSum", {gradient, builder.constant(Tensor::ints(axes))});
  return builder.op("Reshape", {sum, builder.constant(Tensor::ints(to))});
}

}  // namespace podium::ir
