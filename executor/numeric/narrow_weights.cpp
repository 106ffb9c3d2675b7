// A DequantizeLinear is found as an op that runs each time or as what made a constant (ir/late_tensor.h),
// behind a Transpose of either kind. From there its numbers, scales and zero points go into the product.
#include "executor/numeric/narrow_weights.h"

#include <algorithm>
#include <cmath>

#include "executor/kernels/tools/convert.h"
#include "ir/late_tensor.h"

namespace podium::numeric {

using ir::Op;
using ir::Tensor;
using ir::ValueId;

namespace {

// A Transpose of a matrix that changes it.
bool swaps_axes(const Op& op) {
  if (!op.is("Transpose")) return false;
  const ir::AttributeValue* perm = ir::find_attribute(op, "perm");
  return perm == nullptr || std::get<ir::IntList>(*perm) == ir::IntList{1, 0};
}

}  // namespace

std::optional<Tensor> transposed_from(const Tensor& weights) {
  const ir::KnownOp* made = ir::made_by(weights);
  if (made == nullptr || made->inputs[0].rank() != 2 || !swaps_axes(made->op)) return std::nullopt;
  return made->inputs[0];
}

namespace {

// A DequantizeLinear of known numbers, perhaps transposed.
struct Dequantizer {
  bool is_transposed = false;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  Tensor weights;
  Tensor scale;
  std::optional<Tensor> zero_point;  // none: 0
};

// `known` gives an input, or nullptr where it is not known.
template <class Known>
std::optional<Dequantizer> dequantizer_from(const Op& op, const Known& known) {
  const bool has_zero_point = op.inputs.size() > 2 && op.inputs[2].valid();
  for (std::size_t i = 0; i < (has_zero_point ? 3 : 2); ++i) {
    if (known(i) == nullptr) return std::nullopt;
  }
  Dequantizer found{.axis = ir::attribute<std::int64_t>(op, "axis"),
                    .block_size = ir::attribute<std::int64_t>(op, "block_size"),
                    .weights = *known(0),
                    .scale = *known(1),
                    .zero_point = {}};
  if (has_zero_point) found.zero_point = *known(2);
  return found;
}

// Of one that was folded.
std::optional<Dequantizer> dequantizer_of(const Tensor& folded) {
  if (const auto turned = transposed_from(folded)) {
    auto found = dequantizer_of(*turned);
    if (found) found->is_transposed = !found->is_transposed;
    return found;
  }
  const ir::KnownOp* made = ir::made_by(folded);
  if (made == nullptr || !made->op.is("DequantizeLinear")) return std::nullopt;
  return dequantizer_from(made->op, [&](std::size_t i) { return &made->inputs[i]; });
}

// What makes the weights of a product, where all that it reads is known: an op that runs each time, or one
// that was folded.
std::optional<Dequantizer> dequantizer_of(const Rewriter& rewriter, const Op& product) {
  ValueId weights = product.inputs[1];
  const auto turned = rewriter.producer(weights, "Transpose");
  const bool is_transposed = turned && rewriter.type(weights).rank() == 2 && swaps_axes(rewriter.op(*turned));
  if (is_transposed) weights = rewriter.op(*turned).inputs[0];
  std::optional<Dequantizer> found;
  if (const auto maker = rewriter.producer(weights, "DequantizeLinear")) {
    const Op& op = rewriter.op(*maker);
    found = dequantizer_from(op, [&](std::size_t i) { return rewriter.constant(op.inputs[i]); });
  } else if (const Tensor* folded = rewriter.constant(weights)) {
    found = dequantizer_of(*folded);
  }
  if (found && is_transposed) found->is_transposed = !found->is_transposed;
  return found;
}

// Whether weights of so many bits can be multiplied as they are: scales may differ from column to column of
// the product, and from group to group of its summed axis.
bool can_stay_narrow(const Dequantizer& dequantizer, bool transposed) {
  constexpr ir::TypeSet kNarrow{ir::DataType::Int8, ir::DataType::Uint8, ir::DataType::Int4,
                                ir::DataType::Uint4, ir::DataType::Uint2};
  if (!kNarrow.contains(dequantizer.weights.type()) || dequantizer.weights.rank() != 2) return false;
  const Tensor& scale = dequantizer.scale;
  // A scale that makes a weight infinite may not be taken out of the sum.
  constexpr float kLargestNumber = 256;
  const bool has_good_scale = std::ranges::all_of(
      scale.values<float>(), [](float one) { return std::isfinite(one * kLargestNumber); });
  if (!has_good_scale) return false;
  if (scale.size() == 1) return true;
  const std::int64_t summed = transposed ? 1 : 0;
  return (ir::normalized_axis(dequantizer.axis, 2) == summed) == (dequantizer.block_size > 0);
}

}  // namespace

std::optional<Op> narrow_product(Rewriter& rewriter, const Op& product) {
  const bool is_gemm = product.is("Gemm");
  const bool has_bias = has_input(product, 2);
  if (is_gemm &&
      (ir::attribute<std::int64_t>(product, "transA") != 0 || ir::attribute<float>(product, "alpha") != 1 ||
       ir::attribute<float>(product, "beta") != 1)) {
    return std::nullopt;
  }
  if (has_bias && !is_vector(rewriter, product.inputs[2], rewriter.type(product.outputs[0]).dims[1]))
    return std::nullopt;
  if (rewriter.type(product.inputs[0]).rank() < 2) return std::nullopt;
  auto dequantizer = dequantizer_of(rewriter, product);
  if (!dequantizer) return std::nullopt;
  dequantizer->scale = kernels::as_float(dequantizer->scale);
  const bool reads_transposed = is_gemm && ir::attribute<std::int64_t>(product, "transB") != 0;
  const bool transposed = reads_transposed != dequantizer->is_transposed;
  if (!can_stay_narrow(*dequantizer, transposed)) return std::nullopt;
  ir::Graph& graph = rewriter.graph();
  const auto known = [&](const Tensor& tensor) {
    return graph.add_constant(graph.fresh_name("dequantized"), tensor);
  };
  std::vector<ValueId> inputs{product.inputs[0], known(dequantizer->weights), known(dequantizer->scale),
                              dequantizer->zero_point ? known(*dequantizer->zero_point) : ir::kNoValue};
  if (has_bias) inputs.push_back(product.inputs[2]);
  Op narrow = make_op("DequantizedMatMul", "podium", std::move(inputs), {},
                      {{"transB", std::int64_t{transposed}}, {"block_size", dequantizer->block_size}});
  narrow.name = product.name;
  return narrow;
}

}  // namespace podium::numeric
