#include "executor/numeric/widen_products.h"

#include <map>

#include "executor/kernels/tools/convert.h"
#include "executor/numeric/layout_rules.h"
#include "executor/numeric/rewriter.h"

namespace podium::numeric {
namespace {

using ir::DataType;
using ir::Op;
using ir::ValueId;

class Pass {
 public:
  explicit Pass(ir::Graph& graph) : graph_(graph), before_(graph) {}

  bool run() {
    const std::vector<Op> ops = std::exchange(graph_.ops, {});
    for (const Op& op : ops) {
      if (!widen(op)) graph_.ops.push_back(op);
    }
    return changed_;
  }

 private:
  bool is_matrix(ValueId id) const {
    const ir::Tensor* tensor = before_.constant(id);
    return tensor != nullptr && tensor->rank() == 2 && tensor->type() != DataType::Float;
  }

  bool widen(const Op& op) {
    if (!op.is("MatMul") && !op.is("Gemm")) return false;
    if (!is_of_narrow_floats(graph_, op) || !is_matrix(op.inputs[1])) return false;
    if (graph_[op.inputs[0]].type.rank() < 2) return false;
    const ValueId y = op.outputs[0];
    const bool is_gemm = op.is("Gemm");
    const bool has_addend = has_input(op, 2);
    if (is_gemm) {
      const bool is_plain = ir::attribute<std::int64_t>(op, "transA") == 0 &&
                            ir::attribute<float>(op, "alpha") == 1 && ir::attribute<float>(op, "beta") == 1;
      const std::int64_t columns = graph_[y].type.dims[1];
      if (!is_plain || (has_addend && !is_vector(before_, op.inputs[2], columns))) return false;
    }
    Op product = make_op("MatMul", "podium", {floats_of(op.inputs[0]), op.inputs[1]}, {});
    product.name = op.name;
    if (is_gemm) ir::set_attribute(product, "transB", ir::attribute<std::int64_t>(op, "transB"));
    if (has_addend) product.inputs.push_back(known_floats(op.inputs[2]));
    const ValueId sum = append(std::move(product), y);
    graph_.ops.push_back(cast(sum, graph_[y].type.element));
    graph_.ops.back().outputs = {y};
    changed_ = true;
    return true;
  }

  // Several products may read them.
  ValueId floats_of(ValueId id) {
    const auto [found, is_new] = floats_.try_emplace(id);
    if (is_new) found->second = append(cast(id, DataType::Float), id);
    return found->second;
  }

  ValueId known_floats(ValueId id) {
    return graph_.add_constant(graph_.fresh_name(graph_[id].name), kernels::as_float(*graph_[id].constant));
  }

  static Op cast(ValueId from, DataType to) {
    return make_op("Cast", "", {from}, {}, {{"to", std::int64_t{static_cast<int>(to)}}});
  }

  // Gives the op a new output, called like `of` with a mark.
  ValueId append(Op op, ValueId of) {
    const ValueId made = graph_.add_value(graph_.fresh_name(graph_[of].name));
    op.outputs = {made};
    infer_types(graph_, op);
    graph_.ops.push_back(std::move(op));
    return made;
  }

  ir::Graph& graph_;
  const Rewriter before_;
  std::map<ValueId, ValueId> floats_;
  bool changed_ = false;
};

}  // namespace

bool widen_products(ir::Graph& graph) { return Pass(graph).run(); }

}  // namespace podium::numeric
