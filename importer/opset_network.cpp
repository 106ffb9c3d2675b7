// Layers of older versions: normalisation, softmax, pooling, recurrent ops, resizing.
// An adapter turns a node as it was before version V into one of version V; the table is run through in
// rising versions, so each function knows one change. Where a meaning has gone, ops before and after the node
// make up for it: a softmax over many axes is flattened, statistics per place become channels, a fractional p
// of LpPool becomes powers and an AveragePool.
#include <algorithm>
#include <array>
#include <cmath>

#include "importer/opset_rewrite.h"
#include "ir/verify.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::IntList;
using ir::Tensor;
using ir::ValueId;

std::string text(const char* value) { return value; }

// The node sees its first input under another shape and gives its first output back in the old one.
void run_reshaped(Rewrite& node, ValueId input) {
  const ValueId shape = node.before("Shape", {node.input(0)});
  node.set_input(0, input);
  const ValueId output = node.node().outputs[0];
  const ValueId reshaped = node.detach_output(0);
  node.after("Reshape", {reshaped, shape}, {{"allowzero", std::int64_t{1}}}, output);
}

// Softmax was over all dimensions from `axis` on.
void softmax_13(Rewrite& node) {
  const std::int64_t axis = node.take_or<std::int64_t>("axis", 1);
  node.set("axis", std::int64_t{-1});
  if (axis != -1) run_reshaped(node, node.before("Flatten", {node.input(0)}, {{"axis", axis}}));
}

void batch_normalization_7(Rewrite& node) {
  if (node.take_or<std::int64_t>("is_test", 0) == 0) {
    node.set("training_mode", std::int64_t{1});
  } else {
    node.node().outputs.resize(1);
  }
}

// Without `spatial` every feature of every place had its own statistics.
void batch_normalization_9(Rewrite& node) {
  if (node.take_or<std::int64_t>("spatial", 1) != 0) return;
  const ValueId shape = node.before("Shape", {node.input(3)});
  run_reshaped(node, node.before("Flatten", {node.input(0)}));
  for (std::size_t i = 1; i < 5; ++i) {
    node.set_input(i, node.before("Reshape", {node.input(i), node.ints({-1})}));
  }
  for (std::size_t i = 1; i < 5; ++i) {
    if (!node.has_output(i)) continue;
    const ValueId output = node.node().outputs[i];
    const ValueId flat = node.detach_output(i);
    node.after("Reshape", {flat, shape}, {}, output);
  }
}

// The mean and variance of the batch, which the newest version no longer gives.
void add_saved_statistics(Rewrite& node) {
  const ValueId by_channel = node.before("Reshape", {node.input(0), node.ints({0, 0, -1})});
  const ValueId axes = node.ints({0, 2});
  const ValueId mean = node.before("ReduceMean", {by_channel, axes}, {{"keepdims", std::int64_t{1}}});
  const ValueId channels = node.ints({-1});
  if (node.has_output(3)) node.after("Reshape", {mean, channels}, {}, node.node().outputs[3]);
  if (!node.has_output(4)) return;
  const ValueId centred = node.before("Sub", {by_channel, mean});
  const ValueId squares = node.before("Mul", {centred, centred});
  const ValueId variance = node.before("ReduceMean", {squares, axes}, {{"keepdims", std::int64_t{0}}});
  node.after("Reshape", {variance, channels}, {}, node.node().outputs[4]);
}

// More than one output meant training.
void batch_normalization_14(Rewrite& node) {
  if (node.has_output(3) || node.has_output(4)) add_saved_statistics(node);
  auto& outputs = node.node().outputs;
  const bool trains = std::any_of(outputs.begin() + 1, outputs.end(), [](ValueId id) { return id.valid(); });
  if (trains) node.set("training_mode", std::int64_t{1});
  if (outputs.size() > 3) outputs.resize(3);
}

// One scale and bias a group become one a channel.
void group_normalization_21(Rewrite& node) {
  const auto groups = node.take<std::int64_t>("num_groups");
  if (!groups) throw Error("attribute 'num_groups' is missing");
  node.set("num_groups", *groups);
  const ValueId channels =
      node.before("Shape", {node.input(0)}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  const ValueId repeats = node.before("Div", {channels, node.ints({*groups})});
  const ValueId shape = node.before("Concat", {node.ints({*groups}), repeats}, {{"axis", std::int64_t{0}}});
  for (std::size_t i = 1; i < 3; ++i) {
    const ValueId column = node.before("Reshape", {node.input(i), node.ints({-1, 1})});
    const ValueId repeated = node.before("Expand", {column, shape});
    node.set_input(i, node.before("Reshape", {repeated, node.ints({-1})}));
  }
}

// A whole p is written as one; nullopt for another.
bool use_whole_p(Rewrite& node, float p) {
  if (p != std::floor(p)) return false;
  node.set("p", static_cast<std::int64_t>(p));
  return true;
}

ValueId power_of_size(Rewrite& node, float p) {
  const ValueId size = node.before("Abs", {node.input(0)});
  return node.before("Pow", {size, node.number_like(p, size)});
}

void global_lp_pool_2(Rewrite& node) {
  const float p = node.take_or<float>("p", 2.0F);
  if (use_whole_p(node, p)) return;
  const ValueId rank = node.before("Reshape", {node.rank_of(node.input(0)), node.ints({})});
  const ValueId axes = node.before("Range", {node.constant(Tensor::scalar(std::int64_t{2})), rank,
                                             node.constant(Tensor::scalar(std::int64_t{1}))});
  const ValueId sum = node.before("ReduceSum", {power_of_size(node, p), axes});
  node.become("Pow", {sum, node.number_like(1 / p, sum)});
}

// For a p that is no whole number: the mean of the powers, padding counted, times how many they are.
void lp_pool_2(Rewrite& node) {
  const float p = node.take_or<float>("p", 2.0F);
  if (use_whole_p(node, p)) return;
  const auto kernel = node.take<IntList>("kernel_shape");
  if (!kernel) throw Error("attribute 'kernel_shape' is missing");
  float count = 1;
  for (const std::int64_t dim : *kernel) count *= static_cast<float>(dim);
  std::vector<ir::Attribute> window = std::move(node.node().attributes);
  std::erase_if(window, [](const ir::Attribute& attribute) { return ir::is_annotation(attribute.name); });
  window.push_back({"kernel_shape", *kernel});
  window.push_back({"count_include_pad", std::int64_t{1}});
  const ValueId mean = node.before("AveragePool", {power_of_size(node, p)}, std::move(window));
  const ValueId sum = node.before("Mul", {mean, node.number_like(count, mean)});
  node.become("Pow", {sum, node.number_like(1 / p, sum)});
}

void grid_sample_20(Rewrite& node) {
  const std::string mode = node.take_or<std::string>("mode", "bilinear");
  node.set("mode", mode == "bilinear" ? text("linear") : mode == "bicubic" ? text("cubic") : mode);
}

// Whether Y is given is told by the outputs alone. Version 1 of GRU misspelt its default direction.
void recurrent_7(Rewrite& node) {
  node.drop("output_sequence");
  if (const auto direction = node.take<std::string>("direction")) {
    node.set("direction", *direction == "foward" ? text("forward") : *direction);
  }
}

void roi_align_16(Rewrite& node) { node.set("coordinate_transformation_mode", text("output_half_pixel")); }

void upsample_7(Rewrite& node) {
  const float height = node.take_or<float>("height_scale", 1.0F);
  const float width = node.take_or<float>("width_scale", 1.0F);
  node.set("scales", ir::FloatList{1.0F, 1.0F, height, width});
}

void upsample_9(Rewrite& node) {
  const auto scales = node.take<ir::FloatList>("scales");
  if (!scales) throw Error("attribute 'scales' is missing");
  node.set_input(1, node.constant(Tensor::of({std::ssize(*scales)}, *scales)));
}

void upsample_10(Rewrite& node) {
  node.node().type = "Resize";
  node.set("nearest_mode", text("floor"));  // an Upsample never makes smaller
}

// Where a dimension grows the nearest pixel was the one before, where it shrinks the one after.
void choose_nearest(Rewrite& node) {
  const ValueId scales = node.input(1);
  const auto& known = node.graph()[scales].constant;
  const auto all = [&](auto holds) {
    return known && known->type() == DataType::Float && std::ranges::all_of(known->values<float>(), holds);
  };
  const bool never_shrinks = all([](float scale) { return scale >= 1; });
  const bool never_grows = all([](float scale) { return scale <= 1; });
  if (!never_shrinks && !never_grows) {
    const ValueId one = node.constant(Tensor::scalar(1.0F));
    const std::vector<ir::Attribute> growing{{"mode", text("nearest")},
                                             {"coordinate_transformation_mode", text("asymmetric")},
                                             {"nearest_mode", text("floor")}};
    node.set_input(
        0, node.before("Resize", {node.input(0), ir::kNoValue, node.before("Max", {scales, one})}, growing));
    node.set_input(1, node.before("Min", {scales, one}));
  }
  node.set("nearest_mode", text(never_shrinks ? "floor" : "ceil"));
}

void resize_11(Rewrite& node) {
  if (!node.has_input(1)) throw Error("input 'scales' is left out, it is needed");
  const std::string mode = node.take_or<std::string>("mode", "nearest");
  node.set("mode", mode == "bilinear" ? text("linear") : mode);
  node.set("coordinate_transformation_mode", text("asymmetric"));
  if (mode == "nearest" && !node.has("nearest_mode")) choose_nearest(node);
  node.set_input(2, node.input(1));
  node.set_input(1, ir::kNoValue);
}

// roi and scales had to be there: an empty tensor said that they are not.
void resize_13(Rewrite& node) {
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    const auto& known = node.graph()[node.input(i)].constant;
    if (known && known->size() == 0) node.set_input(i, ir::kNoValue);
  }
}

}  // namespace

std::span<const Adapter> network_adapters() {
  static constexpr std::array kTable{
      Adapter{"BatchNormalization", 7, batch_normalization_7},
      Adapter{"BatchNormalization", 9, batch_normalization_9},
      Adapter{"BatchNormalization", 14, batch_normalization_14},
      Adapter{"GRU", 7, recurrent_7},
      Adapter{"GlobalLpPool", 2, global_lp_pool_2},
      Adapter{"GridSample", 20, grid_sample_20},
      Adapter{"GroupNormalization", 21, group_normalization_21},
      Adapter{"Hardmax", 13, softmax_13},
      Adapter{"LSTM", 7, recurrent_7},
      Adapter{"LogSoftmax", 13, softmax_13},
      Adapter{"LpPool", 2, lp_pool_2},
      Adapter{"RNN", 7, recurrent_7},
      Adapter{"Resize", 11, resize_11},
      Adapter{"Resize", 13, resize_13},
      Adapter{"RoiAlign", 16, roi_align_16},
      Adapter{"Softmax", 13, softmax_13},
      Adapter{"Upsample", 7, upsample_7},
      Adapter{"Upsample", 9, upsample_9},
      last_of("Upsample", 10, upsample_10),
  };
  return kTable;
}

}  // namespace podium::importer
