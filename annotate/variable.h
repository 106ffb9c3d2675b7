// Tells which constants of a graph are variables of the model.
#pragma once

#include "ir/graph.h"

namespace podium::annotate {

/// A floating-point initializer of more than one element: a shape, an axis or a single number is none.
inline bool is_variable(const ir::Value& value) {
  return (value.constant || value.data_left_out) && is_float(value.type.element) && value.type.rank() > 0 &&
         value.type.element_count() > 1;
}

}  // namespace podium::annotate
