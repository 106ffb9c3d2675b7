#include "ir/passes/sample_axis.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ir/ops/einsum_equation.h"

namespace podium::ir {
namespace {

using Rule = bool (*)(const SampledOp&);

std::int64_t axis_attribute(const SampledOp& op, std::int64_t rank) {
  return normalized_axis(op.typed.get_int("axis"), rank);
}

// One sample axis, and it is in the output: a reduction over it has lost it before.
bool one_input(const SampledOp& op) {
  return std::count(op.inputs.begin(), op.inputs.end(), kNoAxis) + 1 == std::ssize(op.inputs) && op.has(0);
}

bool each_element(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.has(i) && op.input_from_last(i) != op.output_from_last(0)) return false;
  }
  return true;
}

// Works along the axis that its attribute names; all inputs with samples have them on one other axis.
bool along_attribute(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.has(i)) continue;
    if (op.inputs[i] != op.outputs[0] || op.inputs[i] == axis_attribute(op, op.typed.input(i).rank()))
      return false;
  }
  return true;
}

// The same where every input is indexed by the place of the sample.
bool elements_along_attribute(const SampledOp& op) {
  const bool all_sampled =
      std::none_of(op.inputs.begin(), op.inputs.end(), [](int axis) { return axis == kNoAxis; });
  return all_sampled && along_attribute(op);
}

// Works along the axis given as a constant: CumSum.
bool along_input(const SampledOp& op) {
  const Tensor* axis = op.typed.constant(1);
  return axis != nullptr && !op.has(1) &&
         normalized_axis(axis->to_ints().front(), op.typed.input(0).rank()) != op.inputs[0];
}

// Works over the axes from its attribute's on.
bool from_attribute_on(const SampledOp& op) {
  return one_input(op) && op.inputs[0] < axis_attribute(op, op.typed.input(0).rank());
}

// Samples come first: what convolves, pools or works on images. What it works with is the same for all.
bool first_axis(const SampledOp& op) { return one_input(op) && op.inputs[0] == 0; }

// The same where some of the other inputs have samples too, which come first in them.
template <std::size_t... kSampled>
bool first_axis_of(const SampledOp& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool may_have = i == 0 || ((i == kSampled) || ...);
    if (op.has(i) && (!may_have || op.inputs[i] != 0)) return false;
  }
  return op.has(0);
}

// Queries, keys, values, the mask, past keys and values, lengths. A mask of a lower rank is one for all.
bool attention(const SampledOp& op) {
  constexpr std::size_t kMask = 3;
  return first_axis_of<1, 2, kMask, 4, 5, 6>(op) && (!op.has(kMask) || op.typed.input(kMask).rank() == 4);
}

// Tables of sines and cosines are for all samples, unless they have three dimensions.
bool rotary_embedding(const SampledOp& op) {
  const bool own_tables = op.has(1) || op.has(2);
  return first_axis_of<1, 2, 3>(op) && (!own_tables || op.typed.input(1).rank() == 3);
}

// The classical ops take a matrix with a sample in each row; a vector is one sample.
bool rows_of_features(const SampledOp& op) {
  return one_input(op) && op.inputs[0] == 0 && op.typed.input(0).rank() > 1;
}

bool batch_normalization(const SampledOp& op) {
  return op.typed.get_int("training_mode") == 0 && first_axis(op);
}

bool mean_variance(const SampledOp& op) {
  const auto& axes = op.typed.get<std::vector<std::int64_t>>("axes");
  return std::none_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return normalized_axis(axis, op.typed.input(0).rank()) == op.inputs[0];
  });
}

bool reshape(const SampledOp& op) {
  return op.outputs[0] == axis_after_reshape(op.typed.input(0).dims, op.inputs[0], op.typed.output(0).dims);
}

// Rows of A, columns of B, or a stack of matrices on both sides.
bool matrix_product(const SampledOp& op) {
  constexpr int kColumns = 0;
  constexpr int kRows = 1;
  const bool both = op.has(0) && op.has(1);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.has(i)) continue;
    if (i > 1 || op.input_from_last(i) != op.output_from_last(0)) return false;
    if (both && op.input_from_last(i) <= kRows) return false;
    if (op.input_from_last(i) == (i == 0 ? kColumns : kRows)) return false;
  }
  return true;
}

bool gemm(const SampledOp& op) {
  const bool first = op.has(0) && op.inputs[0] == (op.typed.get_int("transA") != 0 ? 1 : 0);
  return first && !op.has(1) && op.outputs[0] == 0 && (!op.has(2) || op.input_from_last(2) == 1);
}

// All samples carry one letter.
bool einsum(const SampledOp& op) {
  std::vector<int> ranks;
  for (const Type& type : op.typed.input_types) ranks.push_back(type.rank());
  const EinsumEquation equation = read_einsum(op.typed.get_string("equation"), ranks);
  const int letter = equation.output[op.outputs[0]];
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.has(i) && equation.inputs[i][op.inputs[i]] != letter) return false;
  }
  return true;
}

// Takes along one axis of one table for all samples, or along another axis than theirs of their own.
bool gather(const SampledOp& op) {
  if (op.has(0) && op.has(1)) return false;
  return op.has(1) || op.inputs[0] != axis_attribute(op, op.typed.input(0).rank());
}

// What each sample takes comes from one table for all.
bool only_indices(const SampledOp& op) {
  return !op.has(0) && op.has(1) && op.typed.get_int("batch_dims") == 0;
}

// Neither cuts nor repeats nor turns the samples.
bool keeps_whole_axis(const SampledOp& op) {
  const auto axis = static_cast<std::size_t>(op.inputs[0]);
  return one_input(op) && op.outputs[0] == op.inputs[0] &&
         op.typed.input(0).dims[axis] == op.typed.output(0).dims[axis];
}

// Steps back along the samples would turn them round.
bool slice(const SampledOp& op) {
  const Tensor* axes = op.typed.constant(3);
  const Tensor* steps = op.typed.constant(4);
  if (!keeps_whole_axis(op) || !op.typed.has_input(4)) return keeps_whole_axis(op);
  if (axes == nullptr || steps == nullptr) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(axes->size()); ++i) {
    const std::int64_t axis = normalized_axis(axes->to_ints()[i], op.typed.input(0).rank());
    if (axis == op.inputs[0] && steps->to_ints()[i] < 0) return false;
  }
  return true;
}

bool recurrent(const SampledOp& op) {
  const bool batch_first = op.typed.get_int("layout") != 0;
  constexpr std::size_t kLengths = 4;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const int wanted = batch_first || i == kLengths ? 0 : 1;
    if (op.has(i) && ((i >= 1 && i < kLengths) || op.inputs[i] != wanted)) return false;
  }
  return op.has(0);
}

// Scales along the samples would be cut with them.
bool quantize(const SampledOp& op) {
  if (!one_input(op)) return false;
  const Type& scale = op.typed.input(1);
  if (scale.rank() == 0 || scale.element_count() == 1) return true;
  return scale.rank() == 1 && axis_attribute(op, op.typed.input(0).rank()) != op.inputs[0];
}

struct Family {
  Rule rule;
  std::string_view names;  ///< of ops of ai.onnx, each followed by a space
};

constexpr Family kFamilies[] = {
    {each_element,
     "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
     "Cast CastLike Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Expand Floor Gelu Greater "
     "GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean "
     "Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh "
     "Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor "},
    {along_attribute, "Concat Hardmax LogSoftmax LpNormalization Softmax Split TopK "},
    {elements_along_attribute, "GatherElements ScatterElements "},
    {along_input, "CumSum CumProd "},
    {from_attribute_on, "LayerNormalization RMSNormalization "},
    {first_axis,
     "AveragePool CausalConvWithState Conv ConvInteger ConvTranspose DepthToSpace Det GlobalAveragePool "
     "GlobalLpPool GlobalMaxPool GroupNormalization InstanceNormalization LRN LpPool MaxPool QLinearConv "
     "Resize SpaceToDepth "},
    {first_axis_of<1>, "GridSample NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss "},
    {first_axis_of<2, 4>, "DeformConv "},
    {attention, "Attention "},
    {rotary_embedding, "RotaryEmbedding "},
    {batch_normalization, "BatchNormalization "},
    {mean_variance, "MeanVarianceNormalization "},
    {one_input,
     "ArgMax ArgMin OneHot ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
     "ReduceProd ReduceSum ReduceSumSquare Transpose Dropout "},
    {reshape, "Flatten Reshape Squeeze Unsqueeze "},
    {matrix_product, "MatMul MatMulInteger "},
    {gemm, "Gemm "},
    {einsum, "Einsum "},
    {gather, "Gather "},
    {only_indices, "GatherND "},
    {keeps_whole_axis, "Pad Tile "},
    {slice, "Slice "},
    {recurrent, "GRU LSTM RNN "},
    {quantize, "DequantizeLinear QuantizeLinear "},
};

std::unordered_map<const OpSpec*, Rule> rules_by_op() {
  std::unordered_map<const OpSpec*, Rule> rules{{find_op("com.microsoft", "QuickGelu"), each_element}};
  for (const Family& family : kFamilies) {
    for (std::string_view rest = family.names; !rest.empty(); rest.remove_prefix(rest.find(' ') + 1)) {
      const std::string_view name = rest.substr(0, rest.find(' '));
      const OpSpec* spec = find_op("", name);
      IR_CHECK(spec != nullptr && rules.emplace(spec, family.rule).second, "{}", name);
    }
  }
  return rules;
}

Rule find_rule(const Op& op) {
  static const std::unordered_map<const OpSpec*, Rule> kRules = rules_by_op();
  if (op.spec->domain == "ai.onnx.ml") return rows_of_features;
  const auto found = kRules.find(op.spec);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace

bool keeps_samples_apart(const SampledOp& op) {
  const Rule rule = find_rule(op.typed.op);
  return rule != nullptr && rule(op);
}

int axis_after_reshape(const Dims& from, int axis, const Dims& to) {
  std::int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= from[i];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (outer == before && to[i] != 1) return static_cast<int>(i);
    outer *= to[i];
  }
  return kNoAxis;
}

bool is_elementwise(const Op& op) { return find_rule(op) == each_element; }

}  // namespace podium::ir
