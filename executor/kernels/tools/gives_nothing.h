// Ops that need not run.
#pragma once

#include <span>

#include "ir/bodies.h"

namespace podium::kernels {

/// Whether all that the op gives are tensors without elements, of any of which dimensions may be huge: there is
/// nothing to compute, and loops over the others would never end. `outputs` are its output types.
inline bool gives_nothing(const ir::Op& op, std::span<const ir::Type> outputs) {
  if (ir::has_body(op)) return false;
  bool has_output = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i >= op.outputs.size() || !op.outputs[i].valid()) continue;
    has_output = true;
    if (!outputs[i].is_tensor() || !outputs[i].is_static() || outputs[i].element_count() != 0) return false;
  }
  return has_output;
}

}  // namespace podium::kernels
