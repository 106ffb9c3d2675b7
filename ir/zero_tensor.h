// Tensors of zeros that take no memory.
#pragma once

#include "ir/tensor.h"

namespace podium::ir {

/// A tensor of zeros. All large ones show the same pages, which are read-only, so that such a tensor costs
/// neither memory nor time, which an estimate of a model of any size needs. No strings. Error when the
/// process may not have so large an address range.
Tensor zeros(DataType element, Dims dims);

/// Whether a tensor is such a large one. The answer takes no look at the numbers: where it is false they may
/// be zeros all the same.
bool takes_no_memory(const Tensor& tensor);

}  // namespace podium::ir
