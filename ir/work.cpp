#include "ir/work.h"

namespace podium::ir {

Work work_of(const TypedOp& op) {
  if (op.op.spec->work == nullptr) return {};
  for (std::size_t i = 0; i < op.op.formal_inputs(); ++i) {
    if (op.has_input(i) && op.input(i).is_tensor() && !op.input(i).has_rank) return {};
  }
  // What inference has refused inside a body gives no rank, and its inputs need not fit each other.
  for (std::size_t i = 0; i < op.output_types.size(); ++i) {
    if (op.has_output(i) && op.output(i).is_tensor() && !op.output(i).has_rank) return {};
  }
  return op.op.spec->work(op);
}

}  // namespace podium::ir
