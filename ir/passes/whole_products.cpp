// An operand is a DequantizeLinear of constant scale and zero point, without blocks. The activation has one
// scale, the weights one or one for each channel of the output. Both are dequantised anew with scales of one,
// which gives whole numbers; of the weights only constants are taken, whose scale the product then does not
// need. Behind the product come a Mul by both scales and, where there was one, an Add of the bias, in the
// place of the product; the last of them makes its output.
#include "ir/passes/whole_products.h"

#include <algorithm>

#include "ir/annotation.h"
#include "ir/filled.h"
#include "ir/passes/inherit_placement.h"

namespace podium::ir {
namespace {

// Which axis of the weights counts the channels of the output, and how many axes come behind these channels
// in the output.
struct Channels {
  int axis = 0;
  int behind = 0;
};

std::optional<Channels> channels_of(const Op& op, int rank) {
  if (op.is("Conv") && rank >= 2) return Channels{.axis = 0, .behind = rank - 2};
  if (op.is("MatMul") && rank >= 2) return Channels{.axis = rank - 1};
  const bool is_plain_gemm =
      op.is("Gemm") && rank == 2 && attribute<float>(op, "alpha") == 1 && attribute<float>(op, "beta") == 1;
  if (!is_plain_gemm) return std::nullopt;
  return Channels{.axis = attribute<std::int64_t>(op, "transB") != 0 ? 0 : 1};
}

class Rewrite {
 public:
  explicit Rewrite(Graph& graph) : graph_(graph), producers_(producers(graph)) {}

  bool run() {
    std::vector<Op> ops;
    for (const Op& op : graph_.ops) {
      std::vector<Op> products = whole_product(op);
      changed_ |= !products.empty();
      if (products.empty()) products.push_back(op);
      std::move(products.begin(), products.end(), std::back_inserter(ops));
    }
    graph_.ops = std::move(ops);
    return changed_;
  }

 private:
  const Tensor* constant(const Op& op, std::size_t i) const {
    return i < op.inputs.size() && graph_.is_constant(op.inputs[i]) ? &*graph_[op.inputs[i]].constant
                                                                    : nullptr;
  }

  // The DequantizeLinear of whole tensors to floats that makes a value, else nullptr.
  const Op* dequantize_of(ValueId value) const {
    if (!value.valid() || !producers_[value].valid()) return nullptr;
    const Op& op = graph_[producers_[value]];
    if (!op.is("DequantizeLinear") || attribute<std::int64_t>(op, "block_size") != 0) return nullptr;
    const Tensor* scale = constant(op, 1);
    const bool has_zero = op.inputs.size() > 2 && op.inputs[2].valid();
    const bool is_known = scale != nullptr && scale->type() == DataType::Float && scale->size() > 0 &&
                          (!has_zero || constant(op, 2) != nullptr);
    return is_known ? &op : nullptr;
  }

  // The same with scales of one.
  Op whole(const Op& dequantize, ValueId output) {
    const Tensor& scale = *constant(dequantize, 1);
    Op op = dequantize;
    op.name.clear();
    op.inputs[1] = graph_.add_constant(graph_.fresh_name("one"), filled(DataType::Float, scale.dims(), 1));
    op.outputs = {output};
    return op;
  }

  ValueId fresh(ValueId like, std::string_view what) {
    return graph_.add_value(graph_.fresh_name(graph_[like].name + "/" + std::string(what)));
  }

  // Both scales multiplied, in the shape that broadcasts along the channels of the output.
  Tensor scales(const Tensor& of_x, const Tensor& of_weights, int behind) {
    Dims dims;
    if (of_weights.size() > 1) {
      dims.assign(behind + 1, 1);
      dims[0] = of_weights.size();
    }
    Tensor both(DataType::Float, std::move(dims));
    for (std::int64_t i = 0; i < both.size(); ++i)
      both.data<float>()[i] = of_x.data<float>()[0] * of_weights.data<float>()[i];
    return both;
  }

  // Wider integers are no whole numbers of few bits, and scales of one are those of a product that is done.
  bool has_scale(const Op& x, const Op& w) const {
    const DataType type = constant(w, 0)->type();
    if (!is_integer(type) || storage_bytes(type) != 1) return false;
    return !are_ones(*constant(x, 1)) || !are_ones(*constant(w, 1));
  }

  // Nothing where the op has to stay as it is.
  std::vector<Op> whole_product(const Op& op) {
    if (op.inputs.size() < 2 || !op.spec->domain.empty()) return {};
    const Op* x = dequantize_of(op.inputs[0]);
    const Op* w = dequantize_of(op.inputs[1]);
    if (x == nullptr || w == nullptr || constant(*w, 0) == nullptr || constant(*x, 1)->size() != 1) return {};
    const int rank = constant(*w, 0)->rank();
    const auto channels = channels_of(op, rank);
    if (!channels || !has_scale(*x, *w) || !has_scales_of(*w, *channels, rank)) return {};
    return products(op, *x, *w, channels->behind);
  }

  bool has_scales_of(const Op& weights, Channels channels, int rank) const {
    if (constant(weights, 1)->size() == 1) return true;
    std::int64_t axis = attribute<std::int64_t>(weights, "axis");
    if (axis < 0) axis += rank;
    return axis == channels.axis;
  }

  std::vector<Op> products(const Op& op, const Op& x, const Op& w, int behind) {
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2].valid();
    const ValueId whole_x = fresh(op.inputs[0], "whole");
    const ValueId whole_w = fresh(op.inputs[1], "whole");
    const ValueId sums = fresh(op.outputs[0], "sums");
    const ValueId scaled = has_bias ? fresh(op.outputs[0], "scaled") : op.outputs[0];
    const std::vector<Attribute> place = place_of(op);
    std::vector<Op> ops{whole(x, whole_x), whole(w, whole_w), op};
    ops[2].inputs = {whole_x, whole_w};
    set_attribute(ops[2], kMultipliesBytes, std::int64_t{1});
    ops[2].outputs = {sums};
    const ValueId factor =
        graph_.add_constant(graph_.fresh_name("scale"), scales(*constant(x, 1), *constant(w, 1), behind));
    ops.push_back(
        {.spec = find_op("", "Mul"), .inputs = {sums, factor}, .outputs = {scaled}, .attributes = place});
    if (!has_bias) return ops;
    ValueId bias = op.inputs[2];
    if (behind > 0) {
      Dims shape(behind + 1, 1);
      shape[0] = -1;
      const ValueId column = fresh(bias, "column");
      const ValueId to = graph_.add_constant(graph_.fresh_name("shape"), Tensor::ints(shape));
      ops.push_back(
          {.spec = find_op("", "Reshape"), .inputs = {bias, to}, .outputs = {column}, .attributes = place});
      bias = column;
    }
    ops.push_back({.spec = find_op("", "Add"),
                   .inputs = {scaled, bias},
                   .outputs = {op.outputs[0]},
                   .attributes = place});
    return ops;
  }

  Graph& graph_;
  IdMap<ValueId, OpId> producers_;
  bool changed_ = false;
};

}  // namespace

bool are_ones(const Tensor& scales) {
  return scales.type() == DataType::Float &&
         std::ranges::all_of(scales.values<float>(), [](float one) { return one == 1; });
}

bool multiply_whole_numbers(Graph& graph) {
  const bool has_any = std::ranges::any_of(graph.ops, [](const Op& op) { return op.is("DequantizeLinear"); });
  return has_any && Rewrite(graph).run();
}

}  // namespace podium::ir
