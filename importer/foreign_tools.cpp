// Shapes are computed by ops, as 1-D tensors of int64 that are joined, because a model may leave dimensions
// open; where types decide them, folding makes constants of them again. The activations of fused ops are one
// table: the name, and the attributes of ONNX's op that the parameters in their order are.
#include "importer/foreign_tools.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace podium::importer {

using ir::Attribute;
using ir::ValueId;

bool take_flag(Rewrite& node, std::string_view name, bool fallback) {
  return node.take_or<std::int64_t>(name, fallback ? 1 : 0) != 0;
}

void refuse_flag(Rewrite& node, std::string_view name) {
  if (take_flag(node, name)) throw Error("{} is set, which is not supported", name);
}

void refuse_input(Rewrite& node, std::size_t i, std::string_view name) {
  if (node.has_input(i)) throw Error("input {} ({}) is given, which is not supported", i, name);
}

ValueId dim_of(Rewrite& node, ValueId value, std::int64_t axis) {
  std::vector<Attribute> range{{"start", axis}};
  if (axis != -1 && axis < std::numeric_limits<std::int64_t>::max()) range.push_back({"end", axis + 1});
  return node.before("Shape", {value}, std::move(range));
}

ValueId joined(Rewrite& node, std::vector<ValueId> parts) {
  return node.before("Concat", std::move(parts), {{"axis", std::int64_t{0}}});
}

ValueId cast(Rewrite& node, ValueId value, ir::DataType type) {
  return node.before("Cast", {value}, {{"to", std::int64_t{static_cast<int>(type)}}});
}

ValueId reshaped(Rewrite& node, ValueId value, const std::vector<std::int64_t>& shape) {
  return node.before("Reshape", {value, node.ints(shape)});
}

ValueId unsqueezed(Rewrite& node, ValueId value, const std::vector<std::int64_t>& axes) {
  return node.before("Unsqueeze", {value, node.ints(axes)});
}

ValueId transposed(Rewrite& node, ValueId value, const std::vector<std::int64_t>& order) {
  return node.before("Transpose", {value}, {{"perm", order}});
}

ValueId sliced(Rewrite& node, ValueId value, ValueId start, ValueId end, std::int64_t axis) {
  return node.before("Slice", {value, start, end, node.ints({axis})});
}

std::vector<ValueId> split_evenly(Rewrite& node, ValueId value, std::size_t parts) {
  return node.before_all("Split", {value}, parts,
                         {{"axis", std::int64_t{-1}}, {"num_outputs", static_cast<std::int64_t>(parts)}});
}

ValueId counting(Rewrite& node, ValueId count) {
  const ValueId zero = node.constant(ir::Tensor::scalar(std::int64_t{0}));
  const ValueId one = node.constant(ir::Tensor::scalar(std::int64_t{1}));
  return node.before("Range", {zero, node.before("Squeeze", {count}), one});
}

ValueId plus(Rewrite& node, ValueId a, ValueId b) { return b.valid() ? node.before("Add", {a, b}) : a; }

namespace {

void check_has_channels(std::int64_t rank) {
  if (rank < 3) throw Error("{} axes found, 3 or more needed", rank);
}

}  // namespace

std::vector<std::int64_t> to_channels_last(std::int64_t rank) {
  check_has_channels(rank);
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<std::int64_t> to_channels_first(std::int64_t rank) {
  check_has_channels(rank);
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

ValueId heads_first(Rewrite& node, ValueId flat, std::int64_t heads) {
  if (heads < 1) throw Error("{} heads found, 1 or more needed", heads);
  return transposed(node, reshaped(node, flat, {0, 0, heads, -1}), {0, 2, 1, 3});
}

void result_of_heads(Rewrite& node, ValueId y) {
  node.result(0, "Reshape", {transposed(node, y, {0, 2, 1, 3}), node.ints({0, 0, -1})});
}

std::int64_t known_angles(Rewrite& node, std::size_t i) {
  const ir::Type type = node.type_of(node.input(i));
  return type.has_rank && type.rank() == 2 && type.dims[1] > 0 ? type.dims[1] : 0;
}

namespace {

struct FusedActivation {
  std::string_view name;
  std::string_view alpha = {};  // the attribute that the first parameter is
  std::string_view beta = {};
  std::string_view gamma = {};
};
constexpr std::array kFusedActivations{
    FusedActivation{"Relu"},
    FusedActivation{"Tanh"},
    FusedActivation{"Sigmoid"},
    FusedActivation{"Softplus"},
    FusedActivation{"Softsign"},
    FusedActivation{"HardSwish"},
    FusedActivation{"Gelu"},
    FusedActivation{"LeakyRelu", "alpha"},
    FusedActivation{"Elu", "alpha"},
    FusedActivation{"ThresholdedRelu", "alpha"},
    FusedActivation{"HardSigmoid", "alpha", "beta"},
    FusedActivation{"Selu", "alpha", "", "gamma"},
};

}  // namespace

void activated_result(Rewrite& node, ValueId value, const Activation& activation) {
  if (activation.name.empty()) return node.result(0, "Identity", {value});
  if (activation.name == "Clip") {
    const auto bound = [&](std::optional<float> number) {
      return number ? node.number_like(*number, value) : ir::kNoValue;
    };
    return node.result(0, "Clip", {value, bound(activation.alpha), bound(activation.beta)});
  }
  if (activation.name == "Softmax") {
    return node.result(0, "Softmax", {value}, {{"axis", activation.axis.value_or(-1)}});
  }
  const auto* const row =
      std::ranges::find(kFusedActivations, std::string_view(activation.name), &FusedActivation::name);
  if (row == kFusedActivations.end()) throw Error("there is no activation '{}'", activation.name);
  std::vector<Attribute> attributes;
  const auto add = [&](std::string_view name, std::optional<float> number) {
    if (!name.empty() && number) attributes.push_back({std::string(name), *number});
  };
  add(row->alpha, activation.alpha);
  add(row->beta, activation.beta);
  add(row->gamma, activation.gamma);
  node.result(0, row->name, {value}, std::move(attributes));
}

}  // namespace podium::importer
