// Normalisations, embeddings and convolutions that ONNX Runtime contributes in the domain com.microsoft.
// Normalisations come with the sum that they normalise and give it out; convolutions with an activation, with
// a sum before it, or with channels as the last axis, which transpositions turn to ONNX's order and back.
#include <array>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::DataType;
using ir::IntList;
using ir::ValueId;

constexpr float kSmallEpsilon = 1e-12F;

// 1 / sqrt(mean of squares over the axes from `axis` on, plus epsilon).
void inverse_rms(Rewrite& node, std::size_t output, ValueId x, std::int64_t axis, float epsilon) {
  if (!node.has_output(output)) return;
  constexpr std::int64_t kMostAxes = 1024;
  if (axis < -kMostAxes) throw Error("axis {} found, {} or more needed", axis, -kMostAxes);
  IntList axes{axis};
  for (std::int64_t later = axis + 1; axis < 0 && later < 0; ++later) axes.push_back(later);
  if (axis >= 0) {
    for (std::int64_t later = axis + 1; later < node.axes_of(0); ++later) axes.push_back(later);
  }
  const ValueId mean = node.before("ReduceMean", {node.before("Mul", {x, x}), node.ints(axes)});
  const ValueId root = node.before("Sqrt", {node.before("Add", {mean, node.number_like(epsilon, mean)})});
  node.result(output, "Reciprocal", {root});
}

void simplified_layer_normalization(Rewrite& node) {
  const std::int64_t axis = node.take_or<std::int64_t>("axis", -1);
  const float epsilon = node.take_or("epsilon", 1e-5F);
  const std::int64_t stash = node.take_or<std::int64_t>("stash_type", 1);
  inverse_rms(node, 1, node.input(0), axis, epsilon);
  node.result(0, "RMSNormalization", {node.input(0), node.input(1)},
              {{"axis", axis}, {"epsilon", epsilon}, {"stash_type", stash}});
}

// Input, skip and bias summed up; output 3 is the sum.
ValueId skip_sum(Rewrite& node, std::size_t bias) {
  const ValueId sum = plus(node, plus(node, node.input(0), node.input(1)), node.input(bias));
  node.result(3, "Identity", {sum});
  return sum;
}

void skip_layer_normalization(Rewrite& node) {
  const float epsilon = node.take_or("epsilon", kSmallEpsilon);
  const ValueId sum = skip_sum(node, 4);
  node.results({0, 1, 2}, "LayerNormalization", {sum, node.input(2), node.input(3)}, {{"epsilon", epsilon}});
}

void skip_simplified_layer_normalization(Rewrite& node) {
  const float epsilon = node.take_or("epsilon", kSmallEpsilon);
  const ValueId sum = skip_sum(node, 3);
  inverse_rms(node, 2, sum, -1, epsilon);
  node.result(0, "RMSNormalization", {sum, node.input(2)}, {{"epsilon", epsilon}});
}

// How many ones each row of the mask has; zeros without a mask.
void count_of_mask(Rewrite& node) {
  constexpr std::size_t kIds = 0;
  constexpr std::size_t kMask = 7;
  if (node.has_input(kMask)) {
    return node.result(1, "ReduceSum", {node.input(kMask), node.ints({1})}, {{"keepdims", std::int64_t{0}}});
  }
  node.result(1, "ConstantOfShape", {dim_of(node, node.input(kIds), 0)},
              {{"value", ir::Tensor::of<std::int32_t>({1}, {0})}});
}

void embed_layer_normalization(Rewrite& node) {
  enum : std::size_t { kIds, kSegmentIds, kWords, kPositions, kSegments, kGamma, kBeta, kMask, kPositionIds };
  const float epsilon = node.take_or("epsilon", kSmallEpsilon);
  node.drop("mask_index_type");
  const ValueId length = dim_of(node, node.input(kIds), 1);
  const ValueId position = node.has_input(kPositionIds)
                               ? node.before("Gather", {node.input(kPositions), node.input(kPositionIds)})
                               : sliced(node, node.input(kPositions), node.ints({0}), length, 0);
  const ValueId word = node.before("Gather", {node.input(kWords), node.input(kIds)});
  ValueId sum = node.before("Add", {word, position});
  if (node.has_input(kSegmentIds) && node.has_input(kSegments)) {
    sum = node.before("Add", {sum, node.before("Gather", {node.input(kSegments), node.input(kSegmentIds)})});
  }
  count_of_mask(node);
  node.result(2, "Identity", {sum});
  node.result(0, "LayerNormalization", {sum, node.input(kGamma), node.input(kBeta)}, {{"epsilon", epsilon}});
}

// The bucket of each distance between a row and a position, [rows, positions]: one for each of the nearest,
// then wider ones whose width grows with the logarithm, up to `farthest`.
ValueId distance_buckets(Rewrite& node, ValueId distance, ValueId buckets, std::int64_t farthest) {
  const ValueId half = node.before("Div", {buckets, node.ints({2})});
  const auto real = [&](ValueId x) { return cast(node, x, DataType::Float); };
  const ValueId span =
      node.before("Div", {node.constant(ir::Tensor::scalar(static_cast<float>(farthest))), real(half)});
  const ValueId far = node.before("Max", {distance, half});  // what is nearer has no use for the logarithm
  const ValueId log = node.before("Log", {node.before("Div", {real(far), real(half)})});
  const ValueId share = node.before("Div", {log, node.before("Log", {span})});
  const ValueId rest = node.before("Sub", {buckets, half});
  const ValueId step = cast(node, node.before("Mul", {share, real(rest)}), DataType::Int64);
  const ValueId last = node.before("Sub", {buckets, node.ints({1})});
  const ValueId wide = node.before("Min", {node.before("Add", {half, step}), last});
  return node.before("Where", {node.before("Less", {distance, half}), distance, wide});
}

void relative_position_bias(Rewrite& node) {
  enum : std::size_t { kTable, kRows, kPositions };
  const bool both_ways = take_flag(node, "is_bidirectional");
  const auto farthest = take_needed<std::int64_t>(node, "max_distance");
  const ValueId rows = reshaped(node, node.input(kRows), {1});
  const ValueId positions = reshaped(node, node.input(kPositions), {1});
  const ValueId distance =
      node.before("Sub", {counting(node, positions), unsqueezed(node, counting(node, rows), {1})});
  ValueId buckets = dim_of(node, node.input(kTable), 0);
  ValueId bucket;
  if (both_ways) {
    buckets = node.before("Div", {buckets, node.ints({2})});
    const ValueId is_later = node.before("Greater", {distance, node.ints({0})});
    bucket = distance_buckets(node, node.before("Abs", {distance}), buckets, farthest);
    bucket = node.before("Add", {bucket, node.before("Where", {is_later, buckets, node.ints({0})})});
  } else {
    const ValueId before = node.before("Max", {node.before("Neg", {distance}), node.ints({0})});
    bucket = distance_buckets(node, before, buckets, farthest);
  }
  const ValueId bias = transposed(node, node.before("Gather", {node.input(kTable), bucket}), {2, 0, 1});
  node.result(0, "Unsqueeze", {bias, node.ints({0})});
}

// x * sigmoid(x)
ValueId silu(Rewrite& node, ValueId x) { return node.before("Swish", {x}); }

// GroupNormalization of `x`, whose scale and bias may be wider numbers.
void grouped(Rewrite& node, ValueId x) {
  const std::int64_t groups = take_needed<std::int64_t>(node, "groups");
  const std::int64_t activation = take_needed<std::int64_t>(node, "activation");
  const bool channels_last = take_flag(node, "channels_last", true);
  const float epsilon = node.take_or("epsilon", 1e-5F);
  if (activation != 0 && activation != 1) throw Error("activation is {}, 0 or 1 needed", activation);
  const std::int64_t rank = node.axes_of(0);
  const ValueId first = channels_last ? transposed(node, x, to_channels_first(rank)) : x;
  const auto like_x = [&](std::size_t i) { return node.before("CastLike", {node.input(i), x}); };
  ValueId y = node.before("GroupNormalization", {first, like_x(1), like_x(2)},
                          {{"num_groups", groups}, {"epsilon", epsilon}});
  if (activation == 1) y = silu(node, y);
  if (channels_last) {
    node.result(0, "Transpose", {y}, {{"perm", to_channels_last(rank)}});
  } else {
    node.result(0, "Identity", {y});
  }
}

void group_norm(Rewrite& node) { grouped(node, node.input(0)); }

// The skip is as large as X, or [N, C] or [N, 1, 1, C]: one row for all places.
void skip_group_norm(Rewrite& node) {
  constexpr std::size_t kSkip = 3;
  constexpr std::size_t kBias = 4;
  const bool per_channel = node.axes_of(kSkip) == 2;
  const ValueId skip = per_channel ? unsqueezed(node, node.input(kSkip), {1, 2}) : node.input(kSkip);
  const ValueId sum = plus(node, plus(node, node.input(0), skip), node.input(kBias));
  node.result(1, "Identity", {sum});
  grouped(node, sum);
}

// Each run of as many elements as the scale has is normalised for itself.
void gated_rms_norm(Rewrite& node) {
  const float epsilon = node.take_or("epsilon", 1e-5F);
  const ValueId width = dim_of(node, node.input(1), 0);
  const ValueId rows = node.before("Reshape", {node.input(0), joined(node, {node.ints({-1}), width})});
  const ValueId normalized = node.before("RMSNormalization", {rows, node.input(1)}, {{"epsilon", epsilon}});
  const ValueId back = node.before("Reshape", {normalized, node.before("Shape", {node.input(0)})});
  node.result(0, "Mul", {back, silu(node, node.input(2))});
}

std::vector<Attribute> take_window(Rewrite& node) {
  std::vector<Attribute> window;
  for (const std::string_view name :
       {"auto_pad", "ceil_mode", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    for (const Attribute& attribute : node.node().attributes) {
      if (attribute.name == name) window.push_back(attribute);
    }
    node.drop(name);
  }
  return window;
}

// The first parameters of an activation, in one list.
Activation take_listed_activation(Rewrite& node) {
  Activation activation{.name = node.take_or<std::string>("activation", "")};
  const auto numbers = node.take_or<ir::FloatList>("activation_params", {});
  if (!numbers.empty()) activation.alpha = numbers[0];
  if (numbers.size() > 1) activation.beta = numbers[1];
  if (numbers.size() > 2) activation.gamma = numbers[2];
  return activation;
}

void fused_conv(Rewrite& node) {
  const Activation activation = take_listed_activation(node);
  std::vector<ValueId> inputs{node.input(0), node.input(1), node.input(2)};
  const ValueId y = node.before("Conv", std::move(inputs), take_window(node));
  activated_result(node, plus(node, y, node.input(3)), activation);
}

void nhwc_fused_conv(Rewrite& node) {
  const Activation activation = take_listed_activation(node);
  const std::int64_t rank = node.axes_of(1);
  const ValueId x = transposed(node, node.input(0), to_channels_first(rank));
  const ValueId y = node.before("Conv", {x, node.input(1), node.input(2)}, take_window(node));
  activated_result(node, plus(node, transposed(node, y, to_channels_last(rank)), node.input(3)), activation);
}

void nhwc_max_pool(Rewrite& node) {
  const std::int64_t rank = node.axes_of(0);
  const ValueId x = transposed(node, node.input(0), to_channels_first(rank));
  const ValueId y = node.before("MaxPool", {x}, take_window(node));
  node.result(0, "Transpose", {y}, {{"perm", to_channels_last(rank)}});
}

}  // namespace

std::span<const ForeignOp> contributed_layers() {
  static constexpr std::array kTable{
      ForeignOp{"EmbedLayerNormalization", embed_layer_normalization, 0b1101101, 9, 3},
      ForeignOp{"FusedConv", fused_conv, 3, 4},
      ForeignOp{"GatedRMSNorm", gated_rms_norm, 7, 3},
      ForeignOp{"GroupNorm", group_norm, 7, 3},
      ForeignOp{"NhwcConv", nhwc_fused_conv, 3, 3},
      ForeignOp{"NhwcFusedConv", nhwc_fused_conv, 3, 4},
      ForeignOp{"NhwcMaxPool", nhwc_max_pool, 1, 1},
      ForeignOp{"RelativePositionBias", relative_position_bias, 7, 3},
      ForeignOp{"SimplifiedLayerNormalization", simplified_layer_normalization, 3, 2, 2},
      ForeignOp{"SimplifiedLayerNormalization", simplified_layer_normalization, 3, 2, 2, ""},
      ForeignOp{"SkipGroupNorm", skip_group_norm, 0b1111, 5, 2},
      ForeignOp{"SkipLayerNormalization", skip_layer_normalization, 7, 5, 4},
      ForeignOp{"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization, 7, 4, 4},
  };
  return kTable;
}

}  // namespace podium::importer
