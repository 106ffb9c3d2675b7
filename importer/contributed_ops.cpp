// Ops that ONNX Runtime contributes in the domain com.microsoft: products, activations, movements.
// Each function says what an op is in ops of ONNX. The optimizer of ONNX Runtime writes most of them in place
// of the same ops (a product with the Transpose before it, a Gelu with the Add before it), so they are taken
// apart again; the engine fuses what its own kernels can do in one.
#include <algorithm>
#include <array>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

void become_gelu(Rewrite& node, ValueId x, const std::string& approximate) {
  node.result(0, "Gelu", {x}, {{"approximate", approximate}});
}

void gelu(Rewrite& node) { become_gelu(node, node.input(0), "none"); }
void bias_gelu(Rewrite& node) { become_gelu(node, plus(node, node.input(0), node.input(1)), "none"); }
void fast_gelu(Rewrite& node) { become_gelu(node, plus(node, node.input(0), node.input(1)), "tanh"); }

void gemm_fast_gelu(Rewrite& node) {
  const ValueId product = node.before("MatMul", {node.input(0), node.input(1)});
  become_gelu(node, plus(node, product, node.input(2)), "tanh");
}

// The left half times the Gelu of the right half.
void bias_split_gelu(Rewrite& node) {
  const auto halves = split_evenly(node, plus(node, node.input(0), node.input(1)), 2);
  node.result(0, "Mul", {halves[0], node.before("Gelu", {halves[1]})});
}

void bias_add(Rewrite& node) {
  node.result(0, "Add", {plus(node, node.input(0), node.input(1)), node.input(2)});
}

void gated_add(Rewrite& node) {
  node.result(0, "Add", {node.input(0), node.before("Mul", {node.input(1), node.input(2)})});
}

// Softmax over all axes from `axis` on. The bias broadcasts as ONNX has it, inside or outside.
void bias_softmax(Rewrite& node) {
  const std::int64_t axis = node.take_or<std::int64_t>("axis", 1);
  node.drop("is_inner_broadcast");
  const ValueId sum = plus(node, node.input(0), node.input(1));
  if (axis == -1 || axis == node.axes_of(0) - 1) return node.result(0, "Softmax", {sum}, {{"axis", axis}});
  const ValueId rows = node.before("Softmax", {node.before("Flatten", {sum}, {{"axis", axis}})});
  node.result(0, "Reshape", {rows, node.before("Shape", {sum})}, {{"allowzero", std::int64_t{1}}});
}

// Dropout of a sum, added to what goes around it.
void bias_dropout(Rewrite& node) {
  std::vector<ir::Attribute> seed;
  if (const auto given = node.take<std::int64_t>("seed")) seed.push_back({"seed", *given});
  const ValueId sum = plus(node, node.input(0), node.input(1));
  const std::vector<ValueId> inputs{sum, node.input(3), node.input(4)};
  if (!node.has_input(2)) return node.results({0, 1}, "Dropout", inputs, seed);
  const auto dropped = node.before_all("Dropout", inputs, 2, seed);
  node.result(0, "Add", {dropped[0], node.input(2)});
  node.result(1, "Identity", {dropped[1]});
}

// The last axis of A and B are the real and the imaginary part.
void complex_product(Rewrite& node, bool conjugates) {
  const auto a = split_evenly(node, node.input(0), 2);
  const auto b = split_evenly(node, node.input(1), 2);
  const auto times = [&](ValueId x, ValueId y) { return node.before("Mul", {x, y}); };
  const ValueId real = node.before(conjugates ? "Add" : "Sub", {times(a[0], b[0]), times(a[1], b[1])});
  const ValueId imaginary = node.before(conjugates ? "Sub" : "Add", {times(a[1], b[0]), times(a[0], b[1])});
  node.result(0, "Concat", {real, imaginary}, {{"axis", std::int64_t{-1}}});
}

void complex_mul(Rewrite& node) { complex_product(node, false); }
void complex_mul_conj(Rewrite& node) { complex_product(node, true); }

// Distances of all rows of A from all rows of B.
void c_dist(Rewrite& node) {
  const auto metric = node.take_or<std::string>("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") {
    throw Error("metric is '{}', sqeuclidean or euclidean needed", metric);
  }
  const ValueId difference =
      node.before("Sub", {unsqueezed(node, node.input(0), {1}), unsqueezed(node, node.input(1), {0})});
  node.result(0, metric == "euclidean" ? "ReduceL2" : "ReduceSumSquare", {difference, node.ints({2})},
              {{"keepdims", std::int64_t{0}}});
}

// The order of a factor's axes: a batch transposition takes axis 0 behind the other axes of the batch.
IntList factor_order(std::int64_t rank, bool transposes, bool transposes_batch) {
  IntList order;
  for (std::int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
  if (transposes_batch && rank > 2) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (transposes) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return order;
}

ValueId factor(Rewrite& node, std::size_t i, char letter) {
  const bool transposes = take_flag(node, std::string("trans") + letter);
  const bool transposes_batch = take_flag(node, std::string("transBatch") + letter);
  if (!transposes && !transposes_batch) return node.input(i);
  const std::int64_t rank = node.axes_of(i);
  if (rank < 2) return node.input(i);
  return transposed(node, node.input(i), factor_order(rank, transposes, transposes_batch));
}

std::vector<ValueId> factors(Rewrite& node) {
  const ValueId a = factor(node, 0, 'A');
  return {a, factor(node, 1, 'B')};
}

Activation take_activation(Rewrite& node) {
  return {.name = node.take_or<std::string>("activation", ""),
          .alpha = node.take<float>("activation_alpha"),
          .beta = node.take<float>("activation_beta"),
          .gamma = node.take<float>("activation_gamma"),
          .axis = node.take<std::int64_t>("activation_axis")};
}

void fused_matmul(Rewrite& node) {
  const float alpha = node.take_or("alpha", 1.0F);
  if (alpha == 1.0F) return node.result(0, "MatMul", factors(node));
  const ValueId product = node.before("MatMul", factors(node));
  node.result(0, "Mul", {product, node.number_like(alpha, product)});
}

void fused_matmul_activation(Rewrite& node) {
  const Activation activation = take_activation(node);
  const float alpha = node.take_or("alpha", 1.0F);
  const ValueId product = node.before("MatMul", factors(node));
  activated_result(node, node.before("Mul", {product, node.number_like(alpha, product)}), activation);
}

void fused_gemm(Rewrite& node) {
  Activation activation = take_activation(node);
  if (const auto alpha = node.take<float>("leaky_relu_alpha")) activation.alpha = alpha;
  std::vector<ir::Attribute> attributes{{"alpha", node.take_or("alpha", 1.0F)},
                                        {"beta", node.take_or("beta", 1.0F)},
                                        {"transA", node.take_or<std::int64_t>("transA", 0)},
                                        {"transB", node.take_or<std::int64_t>("transB", 0)}};
  activated_result(node, node.before("Gemm", node.node().inputs, std::move(attributes)), activation);
}

// The node keeps its inputs and attributes.
void same_as_onnx(Rewrite& node) { node.node().domain.clear(); }

void grid_sample(Rewrite& node) {
  const auto mode = node.take_or<std::string>("mode", "bilinear");
  node.set("mode", mode == "bilinear" ? std::string("linear") : mode == "bicubic" ? "cubic" : mode);
  same_as_onnx(node);
}

void expand_dims(Rewrite& node) {
  const ValueId axis = node.before("Reshape", {cast(node, node.input(1), DataType::Int64), node.ints({1})});
  node.result(0, "Unsqueeze", {node.input(0), axis});
}

void range(Rewrite& node) {
  const ValueId step = node.has_input(2) ? node.input(2) : node.number_like(1.0F, node.input(0));
  node.result(0, "Range", {node.input(0), node.input(1), step});
}

// Distinct elements in the order in which they come first; where each element's is; how often it is there.
void unique(Rewrite& node) {
  constexpr std::size_t kFirstPlaces = 3;  // of which the node has no output
  node.results({0, kFirstPlaces, 1, 2}, "Unique", {node.input(0)}, {{"sorted", std::int64_t{0}}});
}

// The rows of padding_idx are read like all others; they are only not trained.
void torch_embedding(Rewrite& node) {
  refuse_input(node, 2, "padding_idx");
  refuse_input(node, 3, "scale_grad_by_freq");
  node.result(0, "Gather", {node.input(0), node.input(1)});
}

// Real numbers to the first half of their spectrum.
void rfft(Rewrite& node) {
  if (take_needed<std::int64_t>(node, "signal_ndim") != 1) throw Error("signal_ndim is not 1, 1 needed");
  refuse_flag(node, "normalized");
  if (!take_flag(node, "onesided", true)) throw Error("onesided is 0, 1 needed");
  const ValueId signal = unsqueezed(node, node.input(0), {-1});
  node.result(0, "DFT", {signal, ir::kNoValue, node.constant(Tensor::scalar(std::int64_t{-2}))},
              {{"onesided", std::int64_t{1}}});
}

// The adjugate over the determinant; both come from one factorisation each.
void inverse(Rewrite& node) {
  const std::int64_t rank = node.axes_of(0);
  if (rank < 2) throw Error("{} axes found, 2 or more needed", rank);
  const ValueId cofactors = node.before("Cofactors", {node.input(0)});
  const ValueId adjugate = transposed(node, cofactors, factor_order(rank, true, false));
  const ValueId determinant = unsqueezed(node, node.before("Det", {node.input(0)}), {-2, -1});
  node.result(0, "Div", {adjugate, determinant});
}

// All slices of `size` elements of one axis, `step` apart, as a new last axis.
void unfold_tensor(Rewrite& node) {
  const std::int64_t rank = node.axes_of(0);
  std::int64_t axis = node.take_or<std::int64_t>("dim", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw Error("dim is none of the {} axes of input 0", rank);
  const auto size = take_needed<std::int64_t>(node, "size");
  const std::int64_t step = node.take_or<std::int64_t>("step", 1);
  if (size < 1 || step < 1) throw Error("size is {} and step {}, 1 or more needed", size, step);
  const ValueId last = node.before("Sub", {dim_of(node, node.input(0), axis), node.ints({size})});
  const ValueId count = node.before("Add", {node.before("Div", {last, node.ints({step})}), node.ints({1})});
  const ValueId starts = node.before("Mul", {counting(node, count), node.ints({step})});
  const ValueId within = counting(node, node.ints({size}));
  const ValueId places = node.before("Add", {unsqueezed(node, starts, {1}), within});
  const ValueId gathered = node.before("Gather", {node.input(0), places}, {{"axis", axis}});
  IntList order;
  for (std::int64_t i = 0; i <= rank; ++i) {
    if (i != axis + 1) order.push_back(i);
  }
  order.push_back(axis + 1);
  node.result(0, "Transpose", {gathered}, {{"perm", order}});
}

}  // namespace

std::span<const ForeignOp> contributed_ops() {
  static constexpr std::array kTable{
      ForeignOp{"BiasAdd", bias_add, 7, 3},
      ForeignOp{"BiasDropout", bias_dropout, 3, 5, 2},
      ForeignOp{"BiasGelu", bias_gelu, 3, 2},
      ForeignOp{"BiasSoftmax", bias_softmax, 3, 2},
      ForeignOp{"BiasSplitGelu", bias_split_gelu, 3, 2},
      ForeignOp{"CDist", c_dist, 3, 2},
      ForeignOp{"ComplexMul", complex_mul, 3, 2},
      ForeignOp{"ComplexMulConj", complex_mul_conj, 3, 2},
      ForeignOp{"ExpandDims", expand_dims, 3, 2},
      ForeignOp{"FastGelu", fast_gelu, 1, 2},
      ForeignOp{"FusedGemm", fused_gemm, 3, 3},
      ForeignOp{"FusedMatMul", fused_matmul, 3, 2},
      ForeignOp{"FusedMatMulActivation", fused_matmul_activation, 3, 2},
      ForeignOp{"GatedAdd", gated_add, 7, 3},
      ForeignOp{"GatherND", same_as_onnx, 3, 2},
      ForeignOp{"Gelu", gelu, 1, 1},
      ForeignOp{"GemmFastGelu", gemm_fast_gelu, 3, 3},
      ForeignOp{"GridSample", grid_sample, 3, 2},
      ForeignOp{"Inverse", inverse, 1, 1},
      ForeignOp{"Pad", same_as_onnx, 3, 3},
      ForeignOp{"Range", range, 3, 3},
      ForeignOp{"Rfft", rfft, 1, 1},
      ForeignOp{"TorchEmbedding", torch_embedding, 3, 4},
      ForeignOp{"TransposeMatMul", fused_matmul, 3, 2},
      ForeignOp{"Trilu", same_as_onnx, 1, 2},
      ForeignOp{"UnfoldTensor", unfold_tensor, 1, 1},
      ForeignOp{"Unique", unique, 1, 1, 3},
  };
  return kTable;
}

}  // namespace podium::importer
