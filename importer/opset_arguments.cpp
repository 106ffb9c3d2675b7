// Attributes that newer versions take as inputs.
#include <array>

#include "importer/opset_rewrite.h"
#include "ir/passes/drop_in_training.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

ValueId to_int64(Rewrite& node, ValueId value) {
  return node.before("Cast", {value}, {{"to", std::int64_t{static_cast<int>(DataType::Int64)}}});
}

void axes_to_input(Rewrite& node) { node.ints_to_input("axes", 1); }

void clip_11(Rewrite& node) {
  const auto least = node.take<float>("min");
  const auto most = node.take<float>("max");
  if (least) node.set_input(1, node.number_like(*least, node.input(0)));
  if (most) node.set_input(2, node.number_like(*most, node.input(0)));
}

void dft_20(Rewrite& node) {
  node.set_input(2, node.constant(Tensor::scalar(node.take_or<std::int64_t>("axis", 1))));
}

void pad_2(Rewrite& node) {
  if (auto pads = node.take<IntList>("paddings")) node.set("pads", std::move(*pads));
}

void pad_11(Rewrite& node) {
  node.ints_to_input("pads", 1);
  if (const auto value = node.take<float>("value"))
    node.set_input(2, node.number_like(*value, node.input(0)));
}

void reshape_5(Rewrite& node) { node.ints_to_input("shape", 1); }

void slice_10(Rewrite& node) {
  node.ints_to_input("starts", 1);
  node.ints_to_input("ends", 2);
  node.ints_to_input("axes", 3);
}

// In version 1 the lengths could be an input already, of the data's type.
void split_2(Rewrite& node) {
  if (node.has_input(1)) node.set_input(1, to_int64(node, node.input(1)));
}

void split_13(Rewrite& node) { node.ints_to_input("split", 1); }

void split_18(Rewrite& node) {
  if (!node.has_input(1)) node.set("num_outputs", std::ssize(node.node().outputs));
}

// Repeats all along one axis: ones with `tiles` at `axis`.
void tile_6(Rewrite& node) {
  const ValueId tiles = node.before("Reshape", {to_int64(node, node.input(1)), node.ints({1})});
  const ValueId axis = node.before("Reshape", {to_int64(node, node.input(2)), node.ints({})});
  const ValueId values = node.before("Concat", {node.ints({1}), tiles}, {{"axis", std::int64_t{0}}});
  const ValueId repeats = node.before("OneHot", {axis, node.rank_of(node.input(0)), values});
  node.become("Tile", {node.input(0), repeats});
}

void top_k_10(Rewrite& node) {
  if (const auto k = node.take<std::int64_t>("k")) node.set_input(1, node.ints({*k}));
}

// Without a training_mode input it was left to the session.
void dropout_12(Rewrite& node) {
  if (const auto ratio = node.take<float>("ratio")) node.set_input(1, node.constant(Tensor::scalar(*ratio)));
  if (!node.has_input(2)) node.set(ir::kDropsInTraining, std::int64_t{1});
}

// Before version 7 the attribute is_test chose, and zero was its default.
void dropout_7(Rewrite& node) {
  node.set_input(1, node.constant(Tensor::scalar(node.take_or<float>("ratio", 0.5F))));
  node.set_input(2, node.constant(Tensor::scalar(node.take_or<std::int64_t>("is_test", 0) == 0)));
}

// The mask was of the data's type.
void dropout_10(Rewrite& node) {
  if (!node.has_output(1)) return;
  const ValueId mask = node.node().outputs[1];
  const ValueId is_kept = node.detach_output(1);
  node.after("CastLike", {is_kept, node.input(0)}, {}, mask);
}

}  // namespace

std::span<const Adapter> argument_adapters() {
  static constexpr std::array kTable{
      Adapter{"Clip", 11, clip_11},
      Adapter{"DFT", 20, dft_20},
      Adapter{"Dropout", 7, dropout_7},
      Adapter{"Dropout", 10, dropout_10},
      Adapter{"Dropout", 12, dropout_12},
      Adapter{"Pad", 2, pad_2},
      Adapter{"Pad", 11, pad_11},
      Adapter{"ReduceL1", 18, axes_to_input},
      Adapter{"ReduceL2", 18, axes_to_input},
      Adapter{"ReduceLogSum", 18, axes_to_input},
      Adapter{"ReduceLogSumExp", 18, axes_to_input},
      Adapter{"ReduceMax", 18, axes_to_input},
      Adapter{"ReduceMean", 18, axes_to_input},
      Adapter{"ReduceMin", 18, axes_to_input},
      Adapter{"ReduceProd", 18, axes_to_input},
      Adapter{"ReduceSum", 13, axes_to_input},
      Adapter{"ReduceSumSquare", 18, axes_to_input},
      Adapter{"Reshape", 5, reshape_5},
      Adapter{"Slice", 10, slice_10},
      Adapter{"Split", 2, split_2},
      Adapter{"Split", 13, split_13},
      Adapter{"Split", 18, split_18},
      Adapter{"Squeeze", 13, axes_to_input},
      Adapter{"Tile", 6, tile_6},
      Adapter{"TopK", 10, top_k_10},
      Adapter{"Unsqueeze", 13, axes_to_input},
  };
  return kTable;
}

}  // namespace podium::importer
