#include "executor/lower/graph/zeros.h"

#include <cstring>

#include "ir/zero_tensor.h"

namespace podium::lower {

bool is_all_zero(const ir::Tensor& tensor) {
  if (ir::takes_no_memory(tensor)) return true;
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
  return tensor.bytes() == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, tensor.bytes() - 1) == 0);
}

void fill_with_zeros(PlacedGraph& placed) {
  if (placed.training.variables.empty()) return;
  ir::Graph& graph = placed.graph();
  for (ir::Op& op : graph.ops) {
    if (!op.is("Identity") || !graph.is_constant(op.inputs[0])) continue;
    const ir::Tensor& constant = *graph[op.inputs[0]].constant;
    if (!ir::is_float(constant.type()) || !is_all_zero(constant)) continue;
    op.spec = ir::find_op("podium", "Zeros");
    op.inputs.clear();
    ir::set_attribute(op, "shape", ir::IntList(constant.dims()));
    ir::set_attribute(op, "dtype", static_cast<std::int64_t>(constant.type()));
  }
}

}  // namespace podium::lower
