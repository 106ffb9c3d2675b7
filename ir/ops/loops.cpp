// Each rule says of a family of ops which of their axes run together. Most loops have one axis an operand; a
// reshape's come from the factors that its two shapes have in common:
//
//   [2, 12] -> [2, 3, 4]     loop of 2: axis 0 and axis 0
//                            loop of 3: axis 1 with 4 inner elements, and axis 1
//                            loop of 4: axis 1 in 3 blocks, and axis 2
#include "ir/ops/loops.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/ops/attention.h"
#include "ir/ops/block_rounding.h"
#include "ir/ops/einsum_equation.h"
#include "ir/ops/loop_list.h"

namespace podium::ir {
namespace {

// The axis of an operand that broadcasting aligns with an axis of the result, where it is not stretched.
int aligned_axis(const Type& operand, const Type& result, int axis) {
  const int own = axis - (result.rank() - operand.rank());
  return own >= 0 && operand.dims[own] == result.dims[axis] ? own : kNoAxis;
}

std::vector<Loop> broadcast_loops(const TypedOp& op) {
  LoopList loops(op);
  const Type& result = op.output(0);
  for (int axis = 0; axis < result.rank(); ++axis) {
    Loop loop = loops.make(result.dims[axis]);
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      // Of the second input, CastLike reads the type and Expand the shape of the result.
      const bool is_read = i != 1 || (!op.op.is("CastLike") && !op.op.is("Expand"));
      if (op.has_input(i) && is_read) loop.inputs[i].axis = aligned_axis(op.input(i), result, axis);
    }
    for (LoopAxis& output : loop.outputs) output.axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

/// Where an op has the matrices that it multiplies, and numbers that are one for all, or one a row or column.
struct ProductInputs {
  std::size_t left = 0;
  std::size_t right = 1;
  std::vector<std::size_t> of_rows = {};     ///< of the left matrices
  std::vector<std::size_t> of_columns = {};  ///< of the right matrices
  std::vector<std::size_t> of_results = {};  ///< one a row of the results
  bool adds_up = true;                       ///< parts of the sum over the inner dimension make summands
};

ProductInputs product_inputs(const Op& op) {
  if (op.is("MatMulInteger")) return {.of_rows = {2}, .of_columns = {3}};
  if (op.is("QLinearMatMul"))
    return {.left = 0,
            .right = 3,
            .of_rows = {1, 2},
            .of_columns = {4, 5},
            .of_results = {6, 7},
            .adds_up = false};
  return {};
}

// Numbers of the rows or columns, the axis `own` of an operand, go along where the loop does: as a list of
// them, or in an operand's place with 1 for the other axis of its matrices.
void put_along(Loop& loop, const TypedOp& op, const std::vector<std::size_t>& inputs, const LoopAxis& operand,
               int own) {
  for (std::size_t i : inputs) {
    if (!op.has_input(i) || operand.axis == kNoAxis || op.input(i).element_count() == 1) continue;
    const Type& numbers = op.input(i);
    if (numbers.rank() == 1) {
      if (operand.axis == own) loop.inputs[i].axis = 0;
    } else if (numbers.dims[operand.axis] == loop.extent) {
      loop.inputs[i].axis = operand.axis;
    }
  }
}

// Rows, columns, the stack of matrices, and the sum over the inner dimension.
std::vector<Loop> matrix_product_loops(const TypedOp& op) {
  LoopList loops(op);
  const ProductInputs at = product_inputs(op.op);
  const Type& a = op.input(at.left);
  const Type& b = op.input(at.right);
  const Type& y = op.output(0);
  const bool has_rows = a.rank() > 1;
  const bool has_columns = b.rank() > 1;
  const int stack = y.rank() - (has_rows ? 1 : 0) - (has_columns ? 1 : 0);
  const auto add = [&](std::int64_t extent, int left, int right, int result, LoopResult kind) {
    Loop loop = loops.make(extent, kind);
    loop.inputs[at.left].axis = left;
    loop.inputs[at.right].axis = right;
    loop.outputs[0].axis = result;
    const bool is_inner = kind == LoopResult::Summed;
    if (!is_inner) put_along(loop, op, at.of_rows, loop.inputs[at.left], a.rank() - 2);
    if (!is_inner) put_along(loop, op, at.of_columns, loop.inputs[at.right], b.rank() - 1);
    if (!is_inner) put_along(loop, op, at.of_results, loop.outputs[0], y.rank() - (has_columns ? 2 : 1));
    loops.add(std::move(loop));
  };
  for (int axis = 0; axis < stack; ++axis) {
    const auto own = [&](const Type& operand) {
      const int place = axis - (stack - (operand.rank() - 2));
      return operand.rank() > 2 && place >= 0 && operand.dims[place] == y.dims[axis] ? place : kNoAxis;
    };
    add(y.dims[axis], own(a), own(b), axis, LoopResult::Apart);
  }
  if (has_rows) add(y.dims[stack], a.rank() - 2, kNoAxis, stack, LoopResult::Apart);
  if (has_columns) add(y.dims.back(), kNoAxis, b.rank() - 1, y.rank() - 1, LoopResult::Apart);
  if (at.adds_up) add(a.dims.back(), a.rank() - 1, std::max(0, b.rank() - 2), kNoAxis, LoopResult::Summed);
  return loops.take();
}

std::vector<Loop> gemm_loops(const TypedOp& op) {
  LoopList loops(op);
  const int a_rows = op.get_int("transA") != 0 ? 1 : 0;
  const int b_columns = op.get_int("transB") != 0 ? 0 : 1;
  const auto c_axis = [&](int axis) {
    return op.has_input(2) ? aligned_axis(op.input(2), op.output(0), axis) : kNoAxis;
  };
  const auto add = [&](int output, std::size_t operand, int axis) {
    Loop loop = loops.make(op.output(0).dims[output]);
    loop.inputs[operand].axis = axis;
    if (op.has_input(2)) loop.inputs[2].axis = c_axis(output);
    loop.outputs[0].axis = output;
    loops.add(std::move(loop));
  };
  add(0, 0, a_rows);
  add(1, 1, b_columns);
  loops.add(op.input(0).dims[1 - a_rows], {1 - a_rows, 1 - b_columns}, {}, LoopResult::Summed);
  return loops.take();
}

// Each letter is a loop; one that the output lacks is summed over. A letter twice in an operand is a
// diagonal, and an axis of 1 may be stretched: such letters stay whole.
std::vector<Loop> einsum_loops(const TypedOp& op) {
  LoopList loops(op);
  std::vector<int> ranks;
  std::vector<Dims> dims;
  for (const Type& type : op.input_types) {
    ranks.push_back(type.rank());
    dims.push_back(type.dims);
  }
  const EinsumEquation equation = read_einsum(op.get_string("equation"), ranks);
  const Dims sizes = einsum_sizes(equation, dims);
  const auto find = [](const std::vector<int>& labels, int label) {
    const auto at = std::ranges::find(labels, label);
    return at == labels.end() ? kNoAxis : static_cast<int>(at - labels.begin());
  };
  std::vector<int> letters = equation.output;
  for (const std::vector<int>& labels : equation.inputs) {
    for (int label : labels) {
      if (find(letters, label) == kNoAxis) letters.push_back(label);
    }
  }
  for (int letter : letters) {
    const int out = find(equation.output, letter);
    Loop loop = loops.make(sizes[letter], out == kNoAxis ? LoopResult::Summed : LoopResult::Apart);
    loop.outputs[0].axis = out;
    bool is_plain = true;
    for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
      is_plain = is_plain && std::ranges::count(equation.inputs[i], letter) <= 1;
      const int axis = find(equation.inputs[i], letter);
      if (axis != kNoAxis && dims[i][axis] == sizes[letter]) loop.inputs[i].axis = axis;
    }
    if (is_plain) loops.add(std::move(loop));
  }
  return loops.take();
}

// Which axes a reduction with this result sums over, when the results of parts of them can be put together.
std::optional<LoopResult> total_of(const Op& op) {
  static const std::map<std::string_view, LoopResult> kTotals = {{"ReduceSum", LoopResult::Summed},
                                                                 {"ReduceSumSquare", LoopResult::Summed},
                                                                 {"ReduceL1", LoopResult::Summed},
                                                                 {"ReduceMean", LoopResult::Averaged},
                                                                 {"ReduceMax", LoopResult::Largest}};
  const auto found = kTotals.find(op.spec->name);
  return found == kTotals.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Loop> reduction_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  std::set<std::int64_t> reduced;
  if (op.has_input(1)) {
    if (op.constant(1) == nullptr) return {};
    for (std::int64_t axis : op.constant(1)->to_ints()) reduced.insert(normalized_axis(axis, rank));
  }
  if (reduced.empty() && op.get_int("noop_with_empty_axes") == 0) {
    for (int axis = 0; axis < rank; ++axis) reduced.insert(axis);
  }
  const bool keeps = op.get_int("keepdims") != 0;
  int place = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (reduced.contains(axis)) {
      place += keeps ? 1 : 0;
      continue;
    }
    loops.add(op.input(0).dims[axis], {axis}, {place++});
  }
  if (const auto total = total_of(op.op)) {
    for (std::int64_t axis : reduced) loops.add(op.input(0).dims[axis], {static_cast<int>(axis)}, {}, *total);
  }
  return loops.take();
}

// Other axes, and the one that is split where all parts are as long: each part has the same of it then.
std::vector<Loop> split_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const int own = static_cast<int>(normalized_axis(op.get_int("axis"), rank));
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != own) loops.add_axis(axis, {0});
  }
  const bool all_equal =
      std::ranges::all_of(op.output_types, [&](const Type& type) { return type == op.output(0); });
  if (!all_equal) return loops.take();
  Loop within = loops.make(op.output(0).dims[own]);
  within.inputs[0].axis = own;
  for (LoopAxis& output : within.outputs) output.axis = own;
  loops.add(std::move(within));
  return loops.take();
}

// Axes before the one that the attribute names; scale and bias are of those behind it.
std::vector<Loop> layer_norm_loops(const TypedOp& op) {
  LoopList loops(op);
  const std::int64_t first = normalized_axis(op.get_int("axis"), op.input(0).rank());
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    if (op.has_input(i) && op.input(i).rank() > op.input(0).rank() - first) return {};
  }
  for (int axis = 0; axis < first; ++axis) loops.add_axis(axis, {0});
  return loops.take();
}

std::vector<Loop> transpose_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.input(0).rank();
  const auto* order = op.get_if<IntList>("perm");
  for (int axis = 0; axis < rank; ++axis) {
    const int from = order != nullptr ? static_cast<int>((*order)[axis]) : rank - 1 - axis;
    loops.add(op.output(0).dims[axis], {from}, {axis});
  }
  return loops.take();
}

// Walks both shapes from the front. A loop ends wherever an axis of either one does.
std::vector<Loop> reshape_loops(const TypedOp& op) {
  LoopList loops(op);
  const Dims& from = op.input(0).dims;
  const Dims& to = op.output(0).dims;
  if (op.input(0).element_count() <= 1) return {};
  int in = 0;
  int out = 0;
  // The elements of each axis that no loop has taken yet.
  std::int64_t left_in = from.empty() ? 1 : from[0];
  std::int64_t left_out = to.empty() ? 1 : to[0];
  while (in < std::ssize(from) && out < std::ssize(to)) {
    if (left_in == 1) {
      if (++in < std::ssize(from)) left_in = from[in];
      continue;
    }
    if (left_out == 1) {
      if (++out < std::ssize(to)) left_out = to[out];
      continue;
    }
    const std::int64_t extent = std::min(left_in, left_out);
    if (left_in % extent != 0 || left_out % extent != 0) break;
    left_in /= extent;
    left_out /= extent;
    Loop loop = loops.make(extent);
    loop.inputs[0] = {.axis = in, .inner = left_in};
    loop.outputs[0] = {.axis = out, .inner = left_out};
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Other axes, and the one along which parts of one length are joined: all have the same of it then.
std::vector<Loop> concat_loops(const TypedOp& op) {
  LoopList loops(op);
  const int rank = op.output(0).rank();
  const int own = static_cast<int>(normalized_axis(op.get_int("axis"), rank));
  const bool all_equal =
      std::ranges::all_of(op.input_types, [&](const Type& type) { return type == op.input(0); });
  for (int axis = 0; axis < rank; ++axis) {
    if (axis == own && !all_equal) continue;
    Loop loop = loops.make(op.input(0).dims[axis]);
    for (LoopAxis& input : loop.inputs) input.axis = axis;
    loop.outputs[0].axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Axes that a Slice leaves as they are.
std::vector<Loop> slice_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kAxes = 3;
  constexpr std::size_t kSteps = 4;
  const int rank = op.input(0).rank();
  if (op.constant(1) == nullptr) return {};
  std::set<std::int64_t> cut;
  if (!op.has_input(kAxes)) {
    for (std::int64_t i = 0; i < op.constant(1)->size(); ++i) cut.insert(i);
  } else {
    if (op.constant(kAxes) == nullptr) return {};
    for (std::int64_t axis : op.constant(kAxes)->to_ints()) cut.insert(normalized_axis(axis, rank));
  }
  if (op.has_input(kSteps) && op.constant(kSteps) == nullptr) return {};
  for (int axis = 0; axis < rank; ++axis) {
    if (!cut.contains(axis)) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// Axes that get no padding.
std::vector<Loop> pad_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kAxes = 3;
  if (op.constant(1) == nullptr || op.has_input(kAxes)) return {};
  const std::vector<std::int64_t> pads = op.constant(1)->to_ints();
  const int rank = op.input(0).rank();
  for (int axis = 0; axis < rank; ++axis) {
    if (pads[axis] == 0 && pads[axis + rank] == 0) loops.add_axis(axis, {0});
  }
  return loops.take();
}

// Scales of one number leave all axes; those of an axis run with it.
std::vector<Loop> quantized_loops(const TypedOp& op) {
  LoopList loops(op);
  const Type& x = op.input(0);
  const Type& scale = op.input(1);
  const bool is_one = scale.element_count() == 1;
  if (!is_one && (scale.rank() != 1 || op.get_int("block_size") != 0)) return {};
  const std::int64_t own = is_one ? -1 : normalized_axis(op.get_int("axis"), x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) {
    Loop loop = loops.make(x.dims[axis]);
    loop.inputs[0].axis = axis;
    for (std::size_t i = 1; axis == own && i < op.input_count(); ++i) loop.inputs[i].axis = 0;
    loop.outputs[0].axis = axis;
    loops.add(std::move(loop));
  }
  return loops.take();
}

// A loss for each label, or their sum; a mean where every label counts as much.
std::vector<Loop> class_loss_loops(const TypedOp& op) {
  LoopList loops(op);
  constexpr std::size_t kWeights = 2;
  const std::string& reduction = op.get_string("reduction");
  const bool all_count = !op.has_input(kWeights) && op.get_if<std::int64_t>("ignore_index") == nullptr;
  if (reduction == "mean" && !all_count) return {};
  for (int axis = 0; axis < op.input(1).rank(); ++axis) {
    Loop loop = loops.make(op.input(1).dims[axis], reduction == "none"  ? LoopResult::Apart
                                                   : reduction == "sum" ? LoopResult::Summed
                                                                        : LoopResult::Averaged);
    const int of_scores = axis == 0 ? 0 : axis + 1;
    loop.inputs[0].axis = of_scores;
    loop.inputs[1].axis = axis;
    if (reduction == "none") loop.outputs[0].axis = axis;
    // The logarithms of the probabilities come beside, which a sum of losses cannot give.
    if (op.has_output(1)) return {};
    loops.add(std::move(loop));
  }
  return loops.take();
}

// Where a loop over the batch or the heads of keys runs in what is [batch, heads, .., ..].
LoopAxis axis_of_mask(const Type& mask, int axis, std::int64_t extent) {
  constexpr int kRank = 4;
  const int own = axis - (kRank - mask.rank());
  if (own < 0 || mask.dims[own] == 1) return {};
  return {.axis = own, .inner = mask.dims[own] / extent};
}

// The batch; heads of queries that share keys, which stay together; and queries, of which a part says where
// they are (kQueryRanges). Q, K and V are [batch, heads, tokens, size] or have the heads in their last axis.
std::vector<Loop> attention_loops(const TypedOp& op) {
  using In = AttentionInput;
  using Out = AttentionOutput;
  LoopList loops(op);
  const AttentionShape shape = attention_shape(op);
  const std::int64_t shared = shape.q_heads / shape.kv_heads;
  Loop batch = loops.make(shape.batch);
  Loop heads = loops.make(shape.kv_heads);
  Loop queries = loops.make(shape.rows);
  const auto put = [&](LoopAxis& of_batch, LoopAxis& of_heads, bool is_flat, std::int64_t inner,
                       std::int64_t size) {
    of_batch.axis = 0;
    of_heads = is_flat ? LoopAxis{.axis = 2, .inner = inner * size} : LoopAxis{.axis = 1, .inner = inner};
  };
  const auto put_input = [&](std::size_t i, std::int64_t inner, std::int64_t size) {
    if (op.has_input(i)) put(batch.inputs[i], heads.inputs[i], op.input(i).rank() == 3, inner, size);
  };
  const auto put_output = [&](std::size_t i, bool is_flat, std::int64_t inner, std::int64_t size) {
    if (op.has_output(i)) put(batch.outputs[i], heads.outputs[i], is_flat, inner, size);
  };
  put_input(In::kQ, shared, shape.head);
  put_input(In::kK, 1, shape.head);
  put_input(In::kV, 1, shape.v_head);
  put_input(In::kPastKey, 1, shape.head);
  put_input(In::kPastValue, 1, shape.v_head);
  put_output(Out::kY, shape.is_flat, shared, shape.v_head);
  put_output(Out::kPresentKey, false, 1, shape.head);
  put_output(Out::kPresentValue, false, 1, shape.v_head);
  put_output(Out::kScores, false, shared, 1);
  if (op.has_input(In::kLengths)) batch.inputs[In::kLengths].axis = 0;
  if (op.has_input(In::kMask)) {
    batch.inputs[In::kMask] = axis_of_mask(op.input(In::kMask), 0, shape.batch);
    heads.inputs[In::kMask] = axis_of_mask(op.input(In::kMask), 1, shape.kv_heads);
    queries.inputs[In::kMask] = axis_of_mask(op.input(In::kMask), 2, shape.rows);
  }
  queries.inputs[In::kQ].axis = shape.is_flat ? 1 : 2;
  queries.outputs[Out::kY].axis = shape.is_flat ? 1 : 2;
  if (op.has_output(Out::kScores)) queries.outputs[Out::kScores].axis = 2;
  loops.add(std::move(batch));
  loops.add(std::move(heads));
  // Of a padded cache positions count from the last row of all, which a part does not know.
  const bool knows_places = !sees_by_position(op) || !op.has_input(In::kLengths);
  if (knows_places && !op.has_output(Out::kPresentKey) && !op.has_output(Out::kPresentValue))
    loops.add(std::move(queries));
  return loops.take();
}

// The batch, the positions and the heads, which the last axis of an X of three axes has. What says where a
// position is, its number or the rows of both caches, runs along.
std::vector<Loop> rotary_loops(const TypedOp& op) {
  using In = RotaryInput;
  LoopList loops(op);
  const Dims& x = op.dims(In::kX);
  const bool is_flat = x.size() == 3;
  const auto along = [&](std::int64_t extent, LoopAxis axis) {
    Loop loop = loops.make(extent);
    loop.inputs[In::kX] = loop.outputs[0] = axis;
    return loop;
  };
  const auto add_places = [&](Loop loop, int axis_of_places) {
    if (op.has_input(In::kPositions)) {
      loop.inputs[In::kPositions].axis = axis_of_places;
    } else {
      loop.inputs[In::kCosines].axis = loop.inputs[In::kSines].axis = axis_of_places;
    }
    loops.add(std::move(loop));
  };
  add_places(along(x[0], {.axis = 0}), 0);
  const int positions = is_flat ? 1 : 2;
  add_places(along(x[positions], {.axis = positions}), 1);
  const std::int64_t heads = is_flat ? op.get_int("num_heads") : x[1];
  loops.add(along(heads, is_flat ? LoopAxis{.axis = 2, .inner = x[2] / heads} : LoopAxis{.axis = 1}));
  return loops.take();
}

// Whole blocks along the axis that has them, where it has no other.
std::vector<Loop> block_rounding_loops(const TypedOp& op) {
  LoopList loops(op);
  const Dims& dims = op.input(0).dims;
  for (int axis = 0; axis < std::ssize(dims); ++axis) {
    const std::int64_t inner = axis == op.get_int("axis") ? kRoundedBlock : 1;
    if (dims[axis] % inner != 0) continue;
    Loop loop = loops.make(dims[axis] / inner);
    loop.inputs[0] = loop.outputs[0] = {.axis = axis, .inner = inner};
    loops.add(std::move(loop));
  }
  return loops.take();
}

const LoopRules& rules() {
  static const LoopRules kRules = {
      {"MatMul", matrix_product_loops},
      {"MatMulInteger", matrix_product_loops},
      {"QLinearMatMul", matrix_product_loops},
      {"Gemm", gemm_loops},
      {"Einsum", einsum_loops},
      {"ReduceSum", reduction_loops},
      {"ReduceMean", reduction_loops},
      {"ReduceMax", reduction_loops},
      {"ReduceMin", reduction_loops},
      {"ReduceProd", reduction_loops},
      {"ReduceL1", reduction_loops},
      {"ReduceL2", reduction_loops},
      {"ReduceSumSquare", reduction_loops},
      {"ReduceLogSum", reduction_loops},
      {"ReduceLogSumExp", reduction_loops},
      {"Split", split_loops},
      {"LayerNormalization", layer_norm_loops},
      {"RMSNormalization", layer_norm_loops},
      {"Transpose", transpose_loops},
      {"Reshape", reshape_loops},
      {"Flatten", reshape_loops},
      {"Squeeze", reshape_loops},
      {"Unsqueeze", reshape_loops},
      {"Expand", broadcast_loops},
      {"Concat", concat_loops},
      {"Slice", slice_loops},
      {"Pad", pad_loops},
      {"RoundToBlocks", block_rounding_loops},
      {"QuantizeLinear", quantized_loops},
      {"DequantizeLinear", quantized_loops},
      {"SoftmaxCrossEntropyLoss", class_loss_loops},
      {"NegativeLogLikelihoodLoss", class_loss_loops},
      {"Attention", attention_loops},
      {"RotaryEmbedding", rotary_loops},
      {"Dropout", broadcast_loops},
      {"RandomNormalLike", broadcast_loops},
      {"RandomUniformLike", broadcast_loops},
      {"Bernoulli", broadcast_loops},
  };
  return kRules;
}

bool are_static(const std::vector<ValueId>& operands, const std::vector<Type>& types) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid() && !types[i].is_static()) return false;
  }
  return true;
}

}  // namespace

bool has_static_operands(const TypedOp& op) {
  return are_static(op.op.inputs, op.input_types) && are_static(op.op.outputs, op.output_types);
}

std::vector<Loop> loops_of(const TypedOp& op) {
  if (op.op.captures > 0 || op.op.outputs.empty()) return {};
  if (!has_static_operands(op)) return {};
  if (op.op.spec->elementwise) return broadcast_loops(op);
  for (const LoopRules* table : {&rules(), &image_loop_rules(), &lookup_loop_rules()}) {
    const auto rule = table->find(op.op.spec->name);
    if (rule != table->end()) return rule->second(op);
  }
  return {};
}

}  // namespace podium::ir
