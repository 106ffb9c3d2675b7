// Convolutions: Conv, ConvTranspose, their quantized forms, DeformConv, CausalConvWithState.
// Windows (padding, strides, output sizes) are those of window.h, for infer and kernels alike; what is
// checked here are channels, groups, biases and parameters per output channel. Work is a multiply-add for
// every output element (ConvTranspose: input element), input channel of its group and element of the kernel.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/window.h"

namespace podium::ir {

namespace {

void check_groups(const InferContext& context, std::int64_t channels, std::int64_t expected,
                  std::int64_t divided) {
  const std::int64_t group = context.get_int("group");
  if (group < 1) throw Error("group is {}, at least 1 needed", group);
  if (channels != kUnknown && expected != kUnknown && channels != expected) {
    throw Error("input has {} channels, the weights and group {} need {}", channels, group, expected);
  }
  if (divided != kUnknown && divided % group != 0) {
    throw Error("group {} does not divide {} channels", group, divided);
  }
}

void check_bias(const InferContext& context, std::size_t i, std::int64_t channels) {
  if (!context.has_input(i) || !context.has_rank(i)) return;
  const Dims& bias = context.dims(i);
  const bool fits = bias.size() == 1 && (bias[0] == channels || bias[0] == kUnknown || channels == kUnknown);
  if (!fits) throw Error("bias has shape {}, [{}] needed", to_string(bias), channels);
}

// X is input 0; `w` and `b` are the places of weights and bias.
void infer_conv_of(InferContext& context, DataType element, std::size_t w, std::size_t b) {
  if (!context.has_rank(0) || !context.has_rank(w)) return context.set_output_element(0, element);
  const Dims& x = context.dims(0);
  const Dims& weights = context.dims(w);
  const Window window = conv_window(context, x, weights);
  check_groups(context, x[1], times(weights[1], context.get_int("group")), weights[0]);
  check_bias(context, b, weights[0]);
  context.set_output(0, element, windowed_dims(x[0], weights[0], window));
}

void infer_conv(InferContext& context) { infer_conv_of(context, context.element(0), 1, 2); }

// Input i, a zero point or scale, is one number or one for each output channel.
void check_per_output(const InferContext& context, std::size_t i, std::size_t w) {
  if (!context.has_input(i) || !context.has_rank(i) || !context.has_rank(w)) return;
  const Dims& dims = context.dims(i);
  const bool scalar = dims.empty() || (dims.size() == 1 && dims[0] == 1);
  if (context.dims(w).empty())
    throw Error("{} is one number, an axis of output channels needed", context.op.spec->inputs[w].name);
  const std::int64_t channels = context.dims(w)[0];
  const bool fits =
      scalar || (dims.size() == 1 && (dims[0] == channels || dims[0] == kUnknown || channels == kUnknown));
  if (!fits) {
    throw Error("{} has shape {}, one number or [{}] needed", context.op.spec->inputs[i].name,
                to_string(dims), channels);
  }
}

void infer_conv_integer(InferContext& context) {
  infer_conv_of(context, DataType::Int32, 1, context.input_count());
  check_per_output(context, 3, 1);
}

void infer_qlinear_conv(InferContext& context) {
  infer_conv_of(context, context.element(7), 3, 8);
  for (std::size_t i : {4U, 5U}) check_per_output(context, i, 3);
}

void infer_conv_transpose(InferContext& context) {
  const DataType element = context.element(0);
  if (!context.has_rank(0) || !context.has_rank(1)) return context.set_output_element(0, element);
  const Dims& x = context.dims(0);
  const Dims& w = context.dims(1);
  const Window window = conv_transpose_window(context, x, w);
  check_groups(context, x[1], w[0], x[1]);
  const std::int64_t channels = times(w[1], context.get_int("group"));
  // The first numbers of a longer bias count, as in ONNX's reference: there are models with one.
  const bool is_longer = context.has_input(2) && context.has_rank(2) && context.dims(2).size() == 1 &&
                         channels != kUnknown && context.dims(2)[0] > channels;
  if (!is_longer) check_bias(context, 2, channels);
  context.set_output(0, element, windowed_dims(x[0], channels, window));
}

void check_shape(const InferContext& context, std::size_t i, const Dims& expected) {
  if (!context.has_input(i) || !context.has_rank(i)) return;
  const Dims& dims = context.dims(i);
  bool fits = dims.size() == expected.size();
  for (std::size_t axis = 0; fits && axis < dims.size(); ++axis) {
    fits = dims[axis] == expected[axis] || dims[axis] == kUnknown || expected[axis] == kUnknown;
  }
  if (!fits) {
    throw Error("{} has shape {}, {} needed", context.op.spec->inputs[i].name, to_string(dims),
                to_string(expected));
  }
}

void infer_deform_conv(InferContext& context) {
  infer_conv_of(context, context.element(0), 1, 3);
  if (!context.has_rank(0) || !context.has_rank(1)) return;
  const Dims& x = context.dims(0);
  const std::int64_t groups = context.get_int("offset_group");
  if (groups < 1 || (x[1] != kUnknown && x[1] % groups != 0)) {
    throw Error("offset_group {} does not divide the {} channels", groups, x[1]);
  }
  const Window window = conv_window(context, x, context.dims(1));
  std::int64_t taps = groups;
  for (std::int64_t size : window.kernel) {
    taps = size == kUnknown || taps == kUnknown ? kUnknown : times(taps, size);
  }
  check_shape(context, 2, windowed_dims(x[0], times(taps, window.rank()), window));
  check_shape(context, 4, windowed_dims(x[0], taps, window));
}

void infer_causal_conv(InferContext& context) {
  const std::string& activation = context.get_string("activation");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    throw Error("activation is '{}', it must be none, silu or swish", activation);
  }
  context.set_output(0, context.input(0));
  context.set_output_element(1, context.element(0));
  if (!context.has_rank(0) || !context.has_rank(1)) return;
  const Dims& x = context.dims(0);
  const Dims& w = context.dims(1);
  if (x.size() != 3) throw Error("input has shape {}, [N, C, L] needed", to_string(x));
  if (w.size() != 3 || w[2] == 0) throw Error("weight has shape {}, [C, 1, k] needed", to_string(w));
  check_shape(context, 1, {x[1], 1, w[2]});
  check_bias(context, 2, x[1]);
  Dims state{x[0], x[1], w[2] == kUnknown ? kUnknown : w[2] - 1};
  check_shape(context, 3, state);
  context.set_output(1, context.element(0), std::move(state));
}

// A multiply-add for every output, input channel of its group and element of the kernel.
template <std::size_t kWeights>
Work conv_work(const TypedOp& op) {
  const std::int64_t outputs = op.output(0).element_count();
  const std::int64_t weights = op.input(kWeights).element_count();
  if (outputs < 0 || weights < 0) return {};
  const double channels = static_cast<double>(std::max<std::int64_t>(op.dims(kWeights)[0], 1));
  return {.flop = 2.0 * static_cast<double>(outputs) * static_cast<double>(weights) / channels,
          .bytes = io_bytes(op)};
}

// Every input element meets the weights of its group.
Work conv_transpose_work(const TypedOp& op) {
  const std::int64_t inputs = op.input(0).element_count();
  const std::int64_t weights = op.input(1).element_count();
  if (inputs < 0 || weights < 0) return {};
  const double channels = static_cast<double>(std::max<std::int64_t>(op.dims(1)[0], 1));
  return {.flop = 2.0 * static_cast<double>(inputs) * static_cast<double>(weights) / channels,
          .bytes = io_bytes(op)};
}

std::vector<AttributeSpec> conv_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> attributes{
      with_default("group", std::int64_t{1}), may_have("kernel_shape", AttributeKind::Ints),
      may_have("strides", AttributeKind::Ints), may_have("dilations", AttributeKind::Ints),
      may_have("pads", AttributeKind::Ints)};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

const AttributeSpec kAutoPad = with_default("auto_pad", std::string("NOTSET"));
constexpr TypeSet kConvBytes{DataType::Int8, DataType::Uint8};

OpSpec conv_row() {
  return {.name = "Conv",
          .since = 22,
          .inputs = {{"X"}, {"W"}, {"B", 'T', Formal::Optional}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = conv_attributes({kAutoPad}),
          .infer = infer_conv,
          .work = conv_work<1>,
          .factors = Factors{0, 1}};
}

OpSpec conv_transpose_row() {
  OpSpec row = conv_row();
  row.name = "ConvTranspose";
  row.attributes = conv_attributes({kAutoPad, may_have("output_padding", AttributeKind::Ints),
                                    may_have("output_shape", AttributeKind::Ints)});
  row.infer = infer_conv_transpose;
  row.work = conv_transpose_work;
  return row;
}

OpSpec conv_integer_row() {
  return {.name = "ConvInteger",
          .since = 10,
          .gained = 10,
          .inputs = {{"x", 'X'},
                     {"w", 'W'},
                     {"x_zero_point", 'X', Formal::Optional},
                     {"w_zero_point", 'W', Formal::Optional}},
          .outputs = {{"y", 'Y'}},
          .types = {{'X', kConvBytes}, {'W', kConvBytes}, {'Y', {DataType::Int32}}},
          .attributes = conv_attributes({kAutoPad}),
          .infer = infer_conv_integer,
          .work = conv_work<1>,
          .factors = Factors{0, 1},
          .no_gradient = kNotFloat};
}

OpSpec qlinear_conv_row() {
  return {.name = "QLinearConv",
          .since = 10,
          .gained = 10,
          .inputs = {{"x", 'X'},
                     {"x_scale", 'S'},
                     {"x_zero_point", 'X'},
                     {"w", 'W'},
                     {"w_scale", 'S'},
                     {"w_zero_point", 'W'},
                     {"y_scale", 'S'},
                     {"y_zero_point", 'Y'},
                     {"B", 'B', Formal::Optional}},
          .outputs = {{"y", 'Y'}},
          .types = {{'X', kConvBytes},
                    {'W', kConvBytes},
                    {'Y', kConvBytes},
                    {'S', {DataType::Float}},
                    {'B', {DataType::Int32}}},
          .attributes = conv_attributes({kAutoPad}),
          .infer = infer_qlinear_conv,
          .work = conv_work<3>,
          .factors = Factors{0, 3},
          .no_gradient = kNotFloat};
}

OpSpec deform_conv_row() {
  constexpr unsigned kOffset = 1U << 2;
  constexpr unsigned kMask = 1U << 4;
  return {.name = "DeformConv",
          .since = 22,
          .gained = 19,
          .inputs = {{"X"}, {"W"}, {"offset"}, {"B", 'T', Formal::Optional}, {"mask", 'T', Formal::Optional}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = conv_attributes({with_default("offset_group", std::int64_t{1})}),
          .infer = infer_deform_conv,
          .work = conv_work<1>,
          .factors = Factors{0, 1},
          .samples = first_axis_of<kOffset | kMask>};
}

OpSpec causal_conv_row() {
  return {.name = "CausalConvWithState",
          .since = 27,
          .gained = 27,
          .inputs = {{"input"},
                     {"weight"},
                     {"bias", 'T', Formal::Optional},
                     {"past_state", 'T', Formal::Optional}},
          .outputs = {{"output"}, {"present_state", 'T', Formal::Optional}},
          .types = {{'T', kFloats}},
          .attributes = {with_default("activation", std::string("none"))},
          .infer = infer_causal_conv,
          .work = conv_work<1>,
          .factors = Factors{0, 1}};
}

}  // namespace

std::span<const OpSpec> conv_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Convolution, .samples = first_axis}, {
                                                                             conv_row(),
                                                                             conv_transpose_row(),
                                                                             conv_integer_row(),
                                                                             qlinear_conv_row(),
                                                                             deform_conv_row(),
                                                                             causal_conv_row(),
                                                                         });
  return kRows;
}

}  // namespace podium::ir
