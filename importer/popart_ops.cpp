// PopART's own ops (domain ai.graphcore) of elements, fixed slices and losses.
// Each function says what an op is in ops of ONNX. Where a formula would lose the digits of small numbers
// (Expm1, Log1p) or divide by zero (Atan2) another one takes its place there. Losses have their sum, their
// mean or their elements, as their reduction says.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "importer/foreign_ops.h"
#include "importer/foreign_tools.h"

namespace podium::importer {
namespace {

using ir::Attribute;
using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

void same_value(Rewrite& node) { node.result(0, "Identity", {node.input(0)}); }

// It shows its input on the host's screen, which this program does with anchors.
void print_tensor(Rewrite& node) {
  node.drop("print_gradient");
  node.drop("title");
  same_value(node);
}

// It lays its input out over tiles in another way.
void tensor_remap(Rewrite& node) {
  node.drop("remap_type");
  same_value(node);
}

// Bits are no smooth function of a number, so no derivative comes through.
void detach(Rewrite& node) {
  const DataType type = node.type_of(node.input(0)).element;
  const int width = type == DataType::Undefined ? 0 : ir::bit_width(type);
  const DataType bits = width == 64   ? DataType::Uint64
                        : width == 32 ? DataType::Uint32
                        : width == 16 ? DataType::Uint16
                                      : DataType::Undefined;
  if (bits == DataType::Undefined)
    throw Error("input 0 is of type {}, a floating point type needed", name_of(type));
  const auto to = [](DataType other) {
    return std::vector<Attribute>{{"to", std::int64_t{static_cast<int>(other)}}};
  };
  node.result(0, "BitCast", {node.before("BitCast", {node.input(0)}, to(bits))}, to(type));
}

void popart_gelu(Rewrite& node) {
  node.result(0, "Gelu", {node.input(0)}, {{"approximate", std::string("tanh")}});
}
void gelu_erf(Rewrite& node) { node.result(0, "Gelu", {node.input(0)}); }
void swish(Rewrite& node) { node.result(0, "Swish", {node.input(0)}); }
void square(Rewrite& node) { node.result(0, "Mul", {node.input(0), node.input(0)}); }
void nearby_int(Rewrite& node) { node.result(0, "Round", {node.input(0)}); }

// Halves go away from zero.
void popart_round(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId size = node.before("Abs", {x});
  const ValueId whole = node.before("Floor", {size});
  const ValueId is_half =
      node.before("GreaterOrEqual", {node.before("Sub", {size, whole}), node.number_like(0.5F, x)});
  const ValueId rounded = node.before("Add", {whole, node.before("CastLike", {is_half, x})});
  node.result(0, "Mul", {rounded, node.before("Sign", {x})});
}

// 2 exp(x / 2) sinh(x / 2), which keeps the digits of a small x.
void expm1(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId half = node.before("Mul", {x, node.number_like(0.5F, x)});
  const ValueId product = node.before("Mul", {node.before("Exp", {half}), node.before("Sinh", {half})});
  node.result(0, "Mul", {product, node.number_like(2, x)});
}

// Of a small x twice the inverse hyperbolic tangent of x / (2 + x), which keeps its digits.
void log1p(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId zero = node.number_like(0, x);
  const ValueId two = node.number_like(2, x);
  const ValueId is_small = node.before("Less", {node.before("Abs", {x}), node.number_like(0.5F, x)});
  const ValueId small = node.before("Where", {is_small, x, zero});
  const ValueId ratio = node.before("Div", {small, node.before("Add", {small, two})});
  const ValueId exact = node.before("Mul", {node.before("Atanh", {ratio}), two});
  const ValueId large = node.before("Where", {is_small, zero, x});
  const ValueId plain = node.before("Log", {node.before("Add", {large, node.number_like(1, x)})});
  node.result(0, "Where", {is_small, exact, plain});
}

// The angle of (x, y): the arc tangent of the smaller over the larger, turned to its quadrant.
void atan2(Rewrite& node) {
  const ValueId y = node.input(0);
  const ValueId x = node.input(1);
  const auto number = [&](double value) { return node.number_like(static_cast<float>(value), x); };
  const ValueId zero = number(0);
  const ValueId is_steep = node.before("Greater", {node.before("Abs", {y}), node.before("Abs", {x})});
  const ValueId larger = node.before("Where", {is_steep, y, x});
  const ValueId smaller = node.before("Where", {is_steep, x, y});
  const ValueId is_zero = node.before("Equal", {larger, zero});
  const ValueId divisor = node.before("Where", {is_zero, number(1), larger});
  const ValueId angle = node.before("Atan", {node.before("Div", {smaller, divisor})});
  const ValueId below = node.before("Less", {y, zero});
  const ValueId turn = node.before("Where", {below, number(-std::numbers::pi), number(std::numbers::pi)});
  const ValueId flat_turn = node.before("Where", {node.before("Less", {x, zero}), turn, zero});
  const ValueId quarter = node.before("Mul", {turn, number(0.5)});
  node.result(0, "Where",
              {is_steep, node.before("Sub", {quarter, angle}), node.before("Add", {angle, flat_turn})});
}

void fmod(Rewrite& node) {
  node.result(0, "Mod", {node.input(0), node.input(1)}, {{"fmod", std::int64_t{1}}});
}

// With the sign of the divisor, as Python has it.
void remainder(Rewrite& node) {
  const std::vector<ValueId> inputs{node.input(0), node.input(1)};
  const DataType type = node.type_of(inputs[0]).element;
  if (type != DataType::Undefined && !ir::is_float(type)) return node.result(0, "Mod", inputs);
  const ValueId rest = node.before("Mod", inputs, {{"fmod", std::int64_t{1}}});
  const ValueId zero = node.number_like(0, rest);
  const ValueId differs =
      node.before("Xor", {node.before("Less", {rest, zero}), node.before("Less", {inputs[1], zero})});
  const ValueId is_whole = node.before("Equal", {rest, zero});
  const ValueId moves = node.before("And", {differs, node.before("Not", {is_whole})});
  node.result(0, "Where", {moves, node.before("Add", {rest, inputs[1]}), rest});
}

void increment_mod(Rewrite& node) {
  const ValueId x = node.input(0);
  const ValueId step = node.number_like(take_needed<float>(node, "increment"), x);
  const ValueId modulus = node.number_like(take_needed<float>(node, "modulus"), x);
  node.result(0, "Mod", {node.before("Add", {x, step}), modulus}, {{"fmod", std::int64_t{1}}});
}

void popart_scale(Rewrite& node) {
  const float scale = take_needed<float>(node, "scale");
  node.result(0, "Mul", {node.input(0), node.number_like(scale, node.input(0))});
}

// scale0 * X + scale1 * Y; the scales are attributes or inputs.
void scaled_add(Rewrite& node) {
  const auto part = [&](std::size_t i, std::string_view name) {
    const float attribute = node.take_or(name, 1.0F);
    const ValueId scale = node.has_input(i + 2) ? node.before("CastLike", {node.input(i + 2), node.input(i)})
                                                : node.number_like(attribute, node.input(i));
    return node.before("Mul", {node.input(i), scale});
  };
  const ValueId first = part(0, "scale0");
  node.result(0, "Add", {first, part(1, "scale1")});
}

void bitwise(Rewrite& node, std::string_view op) { node.result(0, op, node.node().inputs); }
void bitwise_and(Rewrite& node) { bitwise(node, "BitwiseAnd"); }
void bitwise_or(Rewrite& node) { bitwise(node, "BitwiseOr"); }
void bitwise_xor(Rewrite& node) { bitwise(node, "BitwiseXor"); }
void bitwise_not(Rewrite& node) { bitwise(node, "BitwiseNot"); }
void bitwise_xnor(Rewrite& node) {
  node.result(0, "BitwiseNot", {node.before("BitwiseXor", {node.input(0), node.input(1)})});
}

void depth_to_space(Rewrite& node) { node.node().domain.clear(); }

// Every so manieth element of each axis.
void subsample(Rewrite& node) {
  const auto strides = take_needed<IntList>(node, "strides");
  IntList axes;
  for (const std::int64_t stride : strides) {
    if (stride < 1) throw Error("a stride of {} found, 1 or more needed", stride);
    axes.push_back(std::ssize(axes));
  }
  const IntList starts(strides.size(), 0);
  const IntList ends(strides.size(), kLast);
  node.result(0, "Slice",
              {node.input(0), node.ints(starts), node.ints(ends), node.ints(axes), node.ints(strides)});
}

void reverse(Rewrite& node) {
  const auto axes = take_needed<IntList>(node, "dimensions");
  const IntList starts(axes.size(), -1);
  const IntList ends(axes.size(), -kLast);
  const IntList steps(axes.size(), -1);
  node.result(0, "Slice",
              {node.input(0), node.ints(starts), node.ints(ends), node.ints(axes), node.ints(steps)});
}

void popart_slice(Rewrite& node) {
  const auto starts = take_needed<IntList>(node, "starts");
  const auto ends = take_needed<IntList>(node, "ends");
  const auto axes = node.take<IntList>("axes");
  node.result(0, "Slice",
              {node.input(0), node.ints(starts), node.ints(ends), axes ? node.ints(*axes) : ir::kNoValue});
}

void popart_reshape(Rewrite& node) {
  node.result(0, "Reshape", {node.input(0), node.ints(take_needed<IntList>(node, "shape"))});
}

// Element types in the order in which PopART counts them.
constexpr std::array kPopartTypes{DataType::Uint8, DataType::Int8,  DataType::Uint16,  DataType::Int16,
                                  DataType::Int32, DataType::Int64, DataType::Uint32,  DataType::Uint64,
                                  DataType::Bool,  DataType::Float, DataType::Float16, DataType::Bfloat16,
                                  DataType::Double};

// A tensor of zeros; what PopART leaves as it is (NoInit) is zero here.
void init(Rewrite& node) {
  const auto shape = take_needed<IntList>(node, "shape");
  const auto type = take_needed<std::int64_t>(node, "data_type");
  for (const std::string_view name : {"tensor_type", "init_type", "batch_axis"}) node.drop(name);
  if (type < 0 || type >= std::ssize(kPopartTypes)) {
    throw Error("data_type is {}, 0 to {} needed", type, kPopartTypes.size() - 1);
  }
  const ValueId zeros = node.before("ConstantOfShape", {node.ints(shape)});
  node.result(0, "Cast", {zeros}, {{"to", std::int64_t{static_cast<int>(kPopartTypes[type])}}});
}

void zeros_like(Rewrite& node) {
  const ValueId zeros = node.before("ConstantOfShape", {node.before("Shape", {node.input(0)})});
  node.result(0, "CastLike", {zeros, node.input(0)});
}

// PopART's word for a reduction: Sum, Mean or None.
std::string take_reduction(Rewrite& node) {
  const auto reduction = node.take_or<std::string>("reduction", "Mean");
  if (reduction != "Sum" && reduction != "Mean" && reduction != "None") {
    throw Error("reduction is '{}', Sum, Mean or None needed", reduction);
  }
  return reduction;
}

void reduced_result(Rewrite& node, ValueId losses, const std::string& reduction) {
  if (reduction == "None") return node.result(0, "Identity", {losses});
  node.result(0, reduction == "Sum" ? "ReduceSum" : "ReduceMean", {losses}, {{"keepdims", std::int64_t{0}}});
}

void identity_loss(Rewrite& node) { reduced_result(node, node.input(0), take_reduction(node)); }

void l1(Rewrite& node) {
  const std::string reduction = take_reduction(node);
  const ValueId lambda = node.number_like(take_needed<float>(node, "lambda"), node.input(0));
  reduced_result(node, node.before("Mul", {node.before("Abs", {node.input(0)}), lambda}), reduction);
}

// Minus the logarithm of the probability of each label; a probability is no smaller than the type's epsilon.
void nll(Rewrite& node) {
  const std::string reduction = take_reduction(node);
  const bool is_log = take_flag(node, "inputIsLogProbability");
  std::vector<Attribute> attributes{{"reduction", std::string(reduction == "Sum"    ? "sum"
                                                              : reduction == "Mean" ? "mean"
                                                                                    : "none")}};
  if (const auto ignored = node.take<std::int64_t>("ignoreIndex"))
    attributes.push_back({"ignore_index", *ignored});
  ValueId scores = node.input(0);
  if (!is_log) {
    const bool is_half = node.type_of(scores).element == DataType::Float16;
    const ValueId least = node.number_like(is_half ? 6.104e-05F : 1e-7F, scores);
    scores = node.before("Log", {node.before("Max", {scores, least})});
  }
  const ValueId rows =
      node.before("Reshape", {scores, joined(node, {node.ints({-1}), dim_of(node, node.input(0), -1)})});
  const ValueId labels = reshaped(node, cast(node, node.input(1), DataType::Int64), {-1});
  if (reduction != "None") return node.result(0, "NegativeLogLikelihoodLoss", {rows, labels}, attributes);
  const ValueId losses = node.before("NegativeLogLikelihoodLoss", {rows, labels}, attributes);
  node.result(0, "Reshape", {losses, node.before("Shape", {node.input(1)})});
}

}  // namespace

std::span<const ForeignOp> popart_ops() {
  static constexpr std::array kTable{
      popart_op("Atan2", atan2, 3, 2),
      popart_op("BitwiseAnd", bitwise_and, 3, 2),
      popart_op("BitwiseNot", bitwise_not, 1, 1),
      popart_op("BitwiseOr", bitwise_or, 3, 2),
      popart_op("BitwiseXnor", bitwise_xnor, 3, 2),
      popart_op("BitwiseXor", bitwise_xor, 3, 2),
      popart_op("DepthToSpace", depth_to_space, 1, 1),
      popart_op("Detach", detach, 1, 1),
      popart_op("Expm1", expm1, 1, 1),
      popart_op("Fmod", fmod, 3, 2),
      popart_op("Gelu", popart_gelu, 1, 1),
      popart_op("GeluErf", gelu_erf, 1, 1),
      popart_op("IdentityLoss", identity_loss, 1, 1),
      popart_op("IncrementMod", increment_mod, 1, 1),
      popart_op("Init", init, 0, 0),
      popart_op("L1", l1, 1, 1),
      popart_op("Log1p", log1p, 1, 1),
      popart_op("NearbyInt", nearby_int, 1, 1),
      popart_op("Nll", nll, 3, 2),
      popart_op("Nop", same_value, 1, 1),
      popart_op("PrintTensor", print_tensor, 1, 1),
      popart_op("Remainder", remainder, 3, 2),
      popart_op("Reshape", popart_reshape, 1, 1),
      popart_op("Reverse", reverse, 1, 1),
      popart_op("Round", popart_round, 1, 1),
      popart_op("Scale", popart_scale, 1, 1),
      popart_op("ScaledAdd", scaled_add, 3, 4),
      popart_op("Slice", popart_slice, 1, 1),
      popart_op("SpaceToDepth", depth_to_space, 1, 1),
      popart_op("Square", square, 1, 1),
      popart_op("Subsample", subsample, 1, 1),
      popart_op("Swish", swish, 1, 1),
      popart_op("TensorRemap", tensor_remap, 1, 2),
      popart_op("ZerosLike", zeros_like, 1, 1),
  };
  return kTable;
}

}  // namespace podium::importer
