// Arithmetic and comparisons of older versions: Caffe2's broadcasting, names of types, defaults.
#include <array>
#include <cctype>

#include "importer/opset_rewrite.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Tensor;
using ir::ValueId;

// `count` ones (1-D of one element); none when it is negative.
ValueId ones(Rewrite& node, ValueId count) {
  return node.before("ConstantOfShape", {node.before("Max", {count, node.ints({0})})},
                     {{"value", Tensor::ints({1})}});
}

// B's dimensions stand at A's from `axis` on; without an axis at the last ones, as NumPy has it.
void broadcast_7(Rewrite& node) {
  const bool broadcasts = node.take_or<std::int64_t>("broadcast", 0) != 0;
  const auto axis = node.take<std::int64_t>("axis");
  if (!broadcasts || !axis || *axis == -1) return;
  const ValueId a = node.input(0);
  const ValueId b = node.input(1);
  const ValueId first =
      *axis >= 0 ? node.ints({*axis}) : node.before("Add", {node.rank_of(a), node.ints({*axis})});
  const ValueId last = node.before("Add", {first, node.rank_of(b)});
  const ValueId trailing = ones(node, node.before("Sub", {node.rank_of(a), last}));
  const ValueId shape =
      node.before("Concat", {node.before("Shape", {b}), trailing}, {{"axis", std::int64_t{0}}});
  node.set_input(1, node.before("Reshape", {b, shape}, {{"allowzero", std::int64_t{1}}}));
}

// The slopes were one for all or one a channel, without the dimensions that follow.
void prelu_7(Rewrite& node) {
  const ValueId rank = node.rank_of(node.input(0));
  const ValueId trailing = ones(node, node.before("Sub", {rank, node.ints({2})}));
  const ValueId shape = node.before("Concat", {node.ints({-1}), trailing}, {{"axis", std::int64_t{0}}});
  node.set_input(1, node.before("Reshape", {node.input(1), shape}));
}

// C broadcasts since 7 whether asked or not.
void gemm_7(Rewrite& node) { node.drop("broadcast"); }

// "FLOAT" and "float" were written before the number was.
void cast_6(Rewrite& node) {
  std::string name = node.take_or<std::string>("to", "");
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const DataType type = ir::data_type_named(name);
  if (type == DataType::Undefined) throw Error("there is no element type '{}'", name);
  node.set("to", std::int64_t{static_cast<int>(type)});
}

void concat_4(Rewrite& node) { node.set_default("axis", std::int64_t{1}); }

void selu_6(Rewrite& node) {
  node.set_default("alpha", 1.6732F);
  node.set_default("gamma", 1.0507F);
}

// A negative index was out of range and gave a row of off values; now it counts from the end.
void one_hot_11(Rewrite& node) {
  const std::vector<ir::Attribute> to_int64{{"to", std::int64_t{static_cast<int>(DataType::Int64)}}};
  const ValueId indices = node.before("Cast", {node.input(0)}, to_int64);
  const ValueId depth =
      node.before("Reshape", {node.before("Cast", {node.input(1)}, to_int64), node.ints({})});
  const ValueId is_negative = node.before("Less", {indices, node.constant(Tensor::scalar(std::int64_t{0}))});
  node.set_input(0, node.before("Where", {is_negative, depth, indices}));
  node.set_input(1, depth);
}

void scatter_11(Rewrite& node) { node.node().type = "ScatterElements"; }

}  // namespace

std::span<const Adapter> elementwise_adapters() {
  static constexpr std::array kTable{
      Adapter{"Add", 7, broadcast_7}, Adapter{"And", 7, broadcast_7},     Adapter{"Cast", 6, cast_6},
      Adapter{"Concat", 4, concat_4}, Adapter{"Div", 7, broadcast_7},     Adapter{"Equal", 7, broadcast_7},
      Adapter{"Gemm", 7, gemm_7},     Adapter{"Greater", 7, broadcast_7}, Adapter{"Less", 7, broadcast_7},
      Adapter{"Mul", 7, broadcast_7}, Adapter{"OneHot", 11, one_hot_11},  Adapter{"Or", 7, broadcast_7},
      Adapter{"PRelu", 7, prelu_7},   Adapter{"Pow", 7, broadcast_7},     last_of("Scatter", 11, scatter_11),
      Adapter{"Selu", 6, selu_6},     Adapter{"Sub", 7, broadcast_7},     Adapter{"Xor", 7, broadcast_7},
  };
  return kTable;
}

}  // namespace podium::importer
