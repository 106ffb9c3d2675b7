// Weights are what is known before the run and all that is made of it alone, in one pass over the ops. A walk
// goes from value to value with a stack, visits each op once and stops at products. A Split on its way back
// tells in how many parts the columns lie, if it cuts an axis that is as long as the product has columns.
#include "annotate/product_graph.h"

#include <algorithm>
#include <set>

#include "annotate/op_cut.h"

namespace podium::annotate {
namespace {

using ir::OpId;
using ir::ValueId;

bool is_float(const ir::Type& type) {
  return type.is_tensor() && type.element != ir::DataType::Bool && type.element != ir::DataType::Int64 &&
         type.element != ir::DataType::Int32;
}

// What makes other numbers of the first input's, and of no other.
bool is_quantization(const ir::Op& op) {
  return is_any(op, {"QuantizeLinear", "DynamicQuantizeLinear", "DequantizeLinear"});
}

// A scale, which has no place in a layout.
bool is_scalar(const ir::Type& type) { return type.is_tensor() && type.has_rank && type.rank() == 0; }

}  // namespace

bool is_any(const ir::Op& op, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return op.is(name); });
}

void ProductGraph::find_weights() {
  for (ValueId id : graph_.value_ids()) is_weight_[id] = graph_.is_constant(id) || graph_[id].data_left_out;
  for (const ir::Op& op : graph_.ops) {
    const ir::PresentValues inputs = inputs_of(op);
    if (inputs.begin() == inputs.end()) continue;
    bool all = true;
    for (ValueId id : inputs) all = all && is_weight_[id];
    for (ValueId id : outputs_of(op)) is_weight_[id] = all;
  }
}

std::optional<Product> ProductGraph::product_of(OpId id) const {
  const ir::Op& op = graph_[id];
  const bool is_scaled = is_any(op, {"QLinearMatMul", "QLinearConv"});
  Product product{.op = id,
                  .weight = is_scaled ? 3U : 1U,
                  .bias = is_scaled ? 8U : 2U,
                  .is_convolution = is_any(op, {"Conv", "ConvInteger", "QLinearConv"}),
                  .columns_axis = 1,
                  .rows_axis = 0};
  const bool is_product =
      product.is_convolution || is_scaled || is_any(op, {"MatMul", "Gemm", "MatMulInteger"});
  if (!is_product || is_weight_[op.inputs[0]] || !is_weight_[op.inputs[product.weight]]) return std::nullopt;
  const ir::Type& weight = graph_[op.inputs[product.weight]].type;
  if (product.is_convolution) {
    if (!weight.is_static() || weight.rank() < 3 || ir::attribute<std::int64_t>(op, "group") != 1)
      return std::nullopt;
    product.feature_axis = 1;
    std::swap(product.columns_axis, product.rows_axis);
  } else if (op.is("MatMul") && weight.is_static() && weight.rank() == 3) {
    product.columns_axis = 2;
    product.rows_axis = 1;
    product.experts = weight.dims[0];
  } else if (!weight.is_static() || weight.rank() != 2) {
    return std::nullopt;
  } else if (op.is("Gemm")) {
    if (ir::attribute<std::int64_t>(op, "transA") != 0) return std::nullopt;
    if (ir::attribute<std::int64_t>(op, "transB") != 0) std::swap(product.columns_axis, product.rows_axis);
  }
  product.columns = weight.dims[static_cast<std::size_t>(product.columns_axis)];
  return product;
}

ProductGraph::ProductGraph(const ir::Graph& graph)
    : graph_(graph),
      producer_(producers(graph)),
      consumers_(ir::consumers(graph)),
      is_weight_(std::ssize(graph.values), false),
      place_of_(std::ssize(graph.ops), -1) {
  find_weights();
  for (OpId id : graph.op_ids()) {
    const auto product = product_of(id);
    if (!product) continue;
    place_of_[id] = static_cast<std::int32_t>(products_.size());
    products_.push_back(*product);
  }
}

const Product* ProductGraph::find(OpId op) const {
  return place_of_[op] < 0 ? nullptr : &products_[static_cast<std::size_t>(place_of_[op])];
}

bool ProductGraph::is_batched_product(const ir::Op& op) const {
  if (!is_any(op, {"MatMul", "Einsum"}) || op.inputs.size() != 2) return false;
  return !is_weight_[op.inputs[0]] && !is_weight_[op.inputs[1]];
}

bool ProductGraph::is_by_element(const ir::Op& op) const {
  return op.spec->elementwise || is_any(op, {"Dropout", "Identity", "Cast", "Clip", "Where"});
}

bool ProductGraph::may_lie(Between between, const ir::Op& op) const {
  switch (between) {
    case Between::Heads:
      return !is_batched_product(op) && !is_any(op, {"Softmax", "Attention"});
    case Between::Mlp:
      return is_by_element(op) || is_quantization(op) || is_any(op, {"Reshape", "Split"});
    case Between::Channels:
      return is_by_element(op) || is_quantization(op) ||
             is_any(op, {"BatchNormalization", "MaxPool", "AveragePool", "GlobalAveragePool"});
  }
  return false;
}

std::int64_t ProductGraph::dim(ValueId value, std::int64_t axis) const {
  const ir::Type& type = graph_[value].type;
  if (!type.is_tensor() || !type.has_rank) return ir::kUnknown;
  const std::int64_t at = axis < 0 ? axis + type.rank() : axis;
  return at < 0 || at >= type.rank() ? ir::kUnknown : type.dims[static_cast<std::size_t>(at)];
}

std::optional<std::vector<Origin>> ProductGraph::origins(ValueId value, Between between) const {
  struct Way {
    ValueId value;
    std::int64_t parts = 1;
    std::int64_t width = 0;       ///< that a Split cuts
    ValueId part = ir::kNoValue;  ///< of one into unlike widths
  };
  std::vector<Origin> found;
  std::vector<Way> open{{value}};
  std::set<std::int32_t> seen;
  while (!open.empty()) {
    const Way way = open.back();
    open.pop_back();
    const OpId id = producer_[way.value];
    const ir::Type& type = graph_[way.value].type;
    const bool is_of_product = id.valid() && find(id) != nullptr;  // that of integers makes integers
    const bool is_activation = is_of_product || (is_float(type) && !is_scalar(type));
    if (is_weight_[way.value] || !is_activation || !seen.insert(way.value.index).second) continue;
    if (!id.valid()) {
      if (between == Between::Heads) continue;
      return std::nullopt;
    }
    const ir::Op& op = graph_[id];
    if (const Product* product = find(id)) {
      const bool is_split = way.width == product->columns;
      const Origin origin{id, is_split ? way.parts : 1, is_split ? way.part : ir::kNoValue};
      if (std::ranges::find(found, id, &Origin::product) == found.end()) found.push_back(origin);
      continue;
    }
    if (!may_lie(between, op)) return std::nullopt;
    Way next = way;
    if (op.is("Split")) {
      const std::int64_t axis = ir::attribute<std::int64_t>(op, "axis");
      const bool are_alike = std::ranges::all_of(
          op.outputs, [&](ValueId output) { return dim(output, axis) == dim(op.outputs[0], axis); });
      if (!are_alike && between != Between::Heads) return std::nullopt;
      next.part = are_alike ? ir::kNoValue : way.value;
      next.parts = std::ssize(op.outputs);
      next.width = dim(op.inputs[0], axis);
    }
    for (ValueId input : inputs_of(op)) {
      next.value = input;
      open.push_back(next);
      if (is_quantization(op)) break;
    }
  }
  return found;
}

std::optional<OpId> ProductGraph::product_before(ValueId value) const {
  std::optional<OpId> found;
  std::vector<ValueId> open{value};
  std::set<std::int32_t> seen;
  while (!open.empty()) {
    const OpId id = is_scalar(graph_[open.back()].type) ? OpId{} : producer_[open.back()];
    open.pop_back();
    if (!id.valid() || !seen.insert(id.index).second) continue;
    const ir::Op& op = graph_[id];
    if (is_batched_product(op)) {
      if (found) return std::nullopt;
      found = id;
    } else if (is_by_element(op) || is_any(op, {"Reshape", "Flatten"})) {
      for (ValueId input : inputs_of(op)) open.push_back(input);
    } else if (is_quantization(op)) {
      open.push_back(op.inputs[0]);
    }
  }
  return found;
}

std::optional<OpId> ProductGraph::product_after(ValueId value, Operand operand) const {
  std::optional<OpId> found;
  std::vector<ValueId> open{value};
  std::set<std::int32_t> seen;
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    for (OpId id : consumers_[at]) {
      if (!seen.insert(id.index).second) continue;
      const ir::Op& op = graph_[id];
      const bool is_wanted = operand == Operand::Weight ? find(id) != nullptr : is_batched_product(op);
      if (is_wanted) {
        if (found) return std::nullopt;
        found = id;
      } else if (is_by_element(op) || is_view(op)) {
        for (ValueId output : outputs_of(op)) open.push_back(output);
      } else if (is_quantization(op) && op.inputs[0] == at) {
        open.push_back(op.outputs[0]);
      }
    }
  }
  return found;
}

ValueId ProductGraph::without_reshapes(ValueId value) const {
  const auto passes = [](const ir::Op& op) {
    return is_quantization(op) || is_any(op, {"Reshape", "Cast", "Identity"});
  };
  for (OpId id = producer_[value]; id.valid() && passes(graph_[id]); id = producer_[value])
    value = graph_[id].inputs[0];
  return value;
}

}  // namespace podium::annotate
