// LateGradient (domain "podium"): the gradient of an op in a graph where the builder of the gradient needs
// shapes or numbers that only the run knows.
#pragma once

#include <string_view>
#include <vector>

#include "ir/infer.h"

namespace podium::ir {

/// A LateGradient taken apart. Its inputs are the inputs, outputs and output gradients of the other op, as
/// far as they are there; `places` says which. The names of the other op's attributes have kOfAnotherOp in
/// front, since that op may be a LateGradient itself.
struct Late {
  Op forward;                    ///< the op that it is the gradient of
  std::vector<ValueId> flowing;  ///< per output of that op
  IntList wanted;                ///< the inputs of that op whose gradients are its outputs

  explicit Late(const Op& late_gradient);
};

/// Whether the builder behind the LateGradient `op` may need the numbers of input i.
bool is_late_number(const TypedOp& op, std::size_t i);

OpSpec late_gradient_row();

}  // namespace podium::ir
