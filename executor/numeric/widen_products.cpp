#include "executor/numeric/widen_products.h"

#include <map>

#include "executor/kernels/tools/convert.h"
#include "executor/numeric/layout_rules.h"
#include "executor/numeric/narrow_weights.h"
#include "executor/numeric/rewriter.h"
#include "ir/ops/recurrent.h"

namespace podium::numeric {
namespace {

using ir::DataType;
using ir::Op;
using ir::ValueId;

class Pass {
 public:
  explicit Pass(ir::Graph& graph) : graph_(graph), before_(graph) {}

  bool run() {
    for (const Op& op : graph_.ops) {
      if (!widen_product(op) && !widen_recurrence(op)) ops_.push_back(op);
    }
    graph_.ops = std::move(ops_);
    return changed_;
  }

 private:
  bool is_matrix(ValueId id) const {
    const ir::Tensor* tensor = before_.constant(id);
    return tensor != nullptr && tensor->rank() == 2 && tensor->type() != DataType::Float;
  }

  bool widen_product(const Op& op) {
    if (!op.is("MatMul") && !op.is("Gemm")) return false;
    if (!is_of_narrow_floats(graph_, op)) return false;
    if (auto narrow = narrow_product(before_, op)) {
      narrow->inputs[0] = floats_of(op.inputs[0]);
      if (has_input(op, 2)) narrow->inputs.back() = known_floats(op.inputs[2]);
      replace_with(std::move(*narrow), op.outputs);
      return true;
    }
    if (!is_matrix(op.inputs[1])) return false;
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
    replace_with(std::move(product), op.outputs);
    return true;
  }

  bool is_narrow(ValueId id) const { return is_narrow_float(graph_[id].type.element); }

  bool widen_recurrence(const Op& op) {
    using In = ir::RecurrentInput;
    if (!op.is("LSTM") && !op.is("GRU") && !op.is("RNN")) return false;
    const bool is_known =
        before_.constant(op.inputs[In::kW]) != nullptr && before_.constant(op.inputs[In::kR]) != nullptr;
    if (!is_known || !is_narrow(op.inputs[In::kX])) return false;
    Op wide = op;
    for (ValueId& id : wide.inputs) {
      if (id.valid() && is_narrow(id))
        id = before_.constant(id) != nullptr ? known_floats(id) : floats_of(id);
    }
    replace_with(std::move(wide), op.outputs);
    return true;
  }

  // The op gives floats of these values.
  void replace_with(Op op, const std::vector<ValueId>& values) {
    op.outputs.clear();
    for (ValueId id : values)
      op.outputs.push_back(id.valid() ? graph_.add_value(graph_.fresh_name(graph_[id].name)) : ir::kNoValue);
    const std::vector<ValueId> floats = op.outputs;
    infer_types(graph_, op);
    ops_.push_back(std::move(op));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].valid()) continue;
      ops_.push_back(make_cast(floats[i], graph_[values[i]].type.element));
      ops_.back().outputs = {values[i]};
    }
    changed_ = true;
  }

  // Several products may read them.
  ValueId floats_of(ValueId id) {
    const auto [found, is_new] = floats_.try_emplace(id);
    if (!is_new) return found->second;
    found->second = graph_.add_value(graph_.fresh_name(graph_[id].name));
    Op widening = make_cast(id, DataType::Float);
    widening.outputs = {found->second};
    infer_types(graph_, widening);
    ops_.push_back(std::move(widening));
    return found->second;
  }

  ValueId known_floats(ValueId id) {
    return graph_.add_constant(graph_.fresh_name(graph_[id].name), kernels::as_float(*graph_[id].constant));
  }

  ir::Graph& graph_;
  Rewriter before_;
  std::vector<Op> ops_;  // the graph's later on: before_ reads the ones that it has
  std::map<ValueId, ValueId> floats_;
  bool changed_ = false;
};

}  // namespace

bool widen_products(ir::Graph& graph) { return Pass(graph).run(); }

}  // namespace podium::numeric
