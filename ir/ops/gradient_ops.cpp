// Ops that no model contains: gradient builders append them where no op of ONNX computes a gradient as fast.
// Domain "podium". Each is named after what it is the gradient of; its attributes say of the window or region
// what the op's own said.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/gru_gradient.h"
#include "ir/ops/late_gradient.h"
#include "ir/ops/lstm_gradient.h"
#include "ir/ops/rnn_gradient.h"
#include "ir/ops/window.h"

namespace podium::ir {
namespace {

// W's shape from the channels of both operands: [channels of dY, channels of X / group, kernel...].
void infer_conv_weight_gradient(InferContext& context) {
  const DataType element = context.element(0);
  if (!context.has_rank(0) || !context.has_rank(1)) return context.set_output_element(0, element);
  const std::int64_t channels = context.dims(0)[1];
  Dims dims{context.dims(1)[1], channels == kUnknown ? kUnknown : channels / context.get_int("group")};
  const IntList& kernel = context.get<IntList>("kernel_shape");
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  context.set_output(0, element, std::move(dims));
}

// The gradient takes as many multiply-adds as the convolution.
Work conv_weight_gradient_work(const TypedOp& op) {
  const std::int64_t flows = op.input(1).element_count();
  const std::int64_t weights = op.output(0).element_count();
  if (flows < 0 || weights < 0) return {};
  const double channels = static_cast<double>(std::max<std::int64_t>(op.output(0).dims[0], 1));
  return {.flop = 2.0 * static_cast<double>(flows) * static_cast<double>(weights) / channels,
          .bytes = io_bytes(op)};
}

// The window of a convolution as it came out, with no automatic padding.
std::vector<AttributeSpec> found_window(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> attributes{
      must_have("kernel_shape", AttributeKind::Ints), must_have("strides", AttributeKind::Ints),
      must_have("dilations", AttributeKind::Ints), must_have("pads", AttributeKind::Ints)};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

// The gradient of W from X and the gradient of Conv's Y.
OpSpec conv_weight_gradient_row() {
  return {.name = "ConvWeightGradient",
          .domain = "podium",
          .inputs = {{"X"}, {"dY"}},
          .outputs = {{"dW"}},
          .types = {{'T', kFloats}},
          .attributes = found_window({with_default("group", std::int64_t{1})}),
          .infer = infer_conv_weight_gradient,
          .work = conv_weight_gradient_work,
          .category = Category::WeightGradient};
}

void infer_sum_pool_gradient(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims{context.dims(0)[0], context.dims(0)[1]};
  const IntList& spatial = context.get<IntList>("input_shape");
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  context.set_output(0, context.element(0), std::move(dims));
}

// An addition (and a comparison before it, of a maximum) for each element that a window sees.
template <int kPerElement, std::size_t kFlow>
Work pool_gradient_work(const TypedOp& op) {
  const std::int64_t flows = op.input(kFlow).element_count();
  if (flows < 0) return {};
  double seen = kPerElement * static_cast<double>(flows);
  for (std::int64_t size : op.get<IntList>("kernel_shape")) seen *= static_cast<double>(size);
  return {.flop = seen, .bytes = io_bytes(op)};
}

// The gradient of sums over windows: the elements' gradient from that of the sums.
OpSpec sum_pool_gradient_row() {
  return {.name = "SumPoolGradient",
          .domain = "podium",
          .inputs = {{"dY"}},
          .outputs = {{"dX"}},
          .types = {{'T', kFloats}},
          .attributes = found_window({must_have("input_shape", AttributeKind::Ints)}),
          .infer = infer_sum_pool_gradient,
          .work = pool_gradient_work<1, 0>};
}

// The gradient of maxima of windows: it goes to the first of equal maxima.
OpSpec max_pool_gradient_row() {
  return {.name = "MaxPoolGradient",
          .domain = "podium",
          .inputs = {{"X"}, {"dY"}},
          .outputs = {{"dX"}},
          .types = {{'T', kFloats}},
          .attributes = found_window({}),
          .infer = same_as_input,
          .work = pool_gradient_work<2, 1>};
}

void shaped_by_attribute(InferContext& context, DataType element) {
  context.set_output(0, element, context.get<IntList>("input_shape"));
}

void infer_resize_gradient(InferContext& context) { shaped_by_attribute(context, context.element(0)); }
void infer_grid_sample_input_gradient(InferContext& context) {
  shaped_by_attribute(context, context.element(1));
}
void infer_grid_sample_grid_gradient(InferContext& context) { context.set_output(0, context.input(1)); }

// The work of the op itself for each element of its output, counted for each element of the incoming
// gradient.
template <int kPerElement, std::size_t kFlow>
Work work_per_flow(const TypedOp& op) {
  const std::int64_t count = op.input(kFlow).element_count();
  return {.flop = count < 0 ? 0 : static_cast<double>(count) * kPerElement, .bytes = io_bytes(op)};
}

// The row of the op that this is about, which is in `family`. (The table of all ops is not there while its
// families are made.)
const OpSpec& row_of(OpFamily family, std::string_view op) {
  const std::span<const OpSpec> rows = family();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const OpSpec& spec) { return spec.name == op; });
  IR_CHECK(row != rows.end(), "there is no {}", op);
  return *row;
}

std::vector<AttributeSpec> attributes_of(OpFamily family, std::string_view op,
                                         std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> attributes = row_of(family, op).attributes;
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

OpSpec resize_gradient_row() {
  return {.name = "ResizeGradient",
          .domain = "podium",
          .inputs = {{"dY"},
                     {"roi", 'R', Formal::Optional},
                     {"scales", 'S', Formal::Optional},
                     {"sizes", 'I', Formal::Optional}},
          .outputs = {{"dX"}},
          .types = {{'T', kFloats}, {'R', kFloats}, {'S', {DataType::Float}}, {'I', kInt64}},
          .attributes = attributes_of(resize_ops, "Resize", {must_have("input_shape", AttributeKind::Ints)}),
          .infer = infer_resize_gradient,
          .work = work_per_flow<4, 0>};
}

OpSpec grid_sample_input_gradient_row() {
  return {
      .name = "GridSampleInputGradient",
      .domain = "podium",
      .inputs = {{"grid", 'G'}, {"dY"}},
      .outputs = {{"dX"}},
      .types = {{'T', kFloats}, {'G', kFloats}},
      .attributes = attributes_of(resize_ops, "GridSample", {must_have("input_shape", AttributeKind::Ints)}),
      .infer = infer_grid_sample_input_gradient,
      .work = work_per_flow<8, 1>};
}

OpSpec grid_sample_grid_gradient_row() {
  return {.name = "GridSampleGridGradient",
          .domain = "podium",
          .inputs = {{"X"}, {"grid", 'G'}, {"dY"}},
          .outputs = {{"dgrid", 'G'}},
          .types = {{'T', kFloats}, {'G', kFloats}},
          .attributes = attributes_of(resize_ops, "GridSample", {}),
          .infer = infer_grid_sample_grid_gradient,
          .work = work_per_flow<16, 2>};
}

OpSpec max_roi_pool_gradient_row() {
  return {.name = "MaxRoiPoolGradient",
          .domain = "podium",
          .inputs = {{"X"}, {"rois"}, {"dY"}},
          .outputs = {{"dX"}},
          .types = {{'T', kFloats}},
          .attributes = attributes_of(pool_ops, "MaxRoiPool", {}),
          .infer = same_as_input,
          .work = work_per_flow<1, 2>};
}

// Reads another tensor at the positions where MaxRoiPool finds its largest elements in X.
OpSpec max_roi_pool_choice_row() {
  return {.name = "MaxRoiPoolChoice",
          .domain = "podium",
          .inputs = {{"X"}, {"rois"}, {"of"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = attributes_of(pool_ops, "MaxRoiPool", {}),
          .infer = row_of(pool_ops, "MaxRoiPool").infer,
          .work = work_per_element<1>};
}

// About as much as three products of the matrices.
Work cofactors_work(const TypedOp& op) {
  const std::int64_t count = op.input(0).element_count();
  return {
      .flop = count < 0 ? 0 : 6.0 * static_cast<double>(count) * static_cast<double>(op.input(0).dims.back()),
      .bytes = io_bytes(op)};
}

// The cofactors of the last two axes: for each element the determinant of the matrix without its row and
// column, with its sign.
OpSpec cofactors_row() {
  return {.name = "Cofactors",
          .domain = "podium",
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .infer = same_as_input,
          .work = cofactors_work};
}

OpSpec roi_align_gradient_row() {
  return {.name = "RoiAlignGradient",
          .domain = "podium",
          .inputs = {{"X"}, {"rois"}, {"batch_indices", 'I'}, {"dY"}},
          .outputs = {{"dX"}},
          .types = {{'T', kFloats}, {'I', kInt64}},
          .attributes = attributes_of(vision_ops, "RoiAlign", {}),
          .infer = same_as_input,
          .work = work_per_flow<8, 3>};
}

// Reads another tensor at the positions of RoiAlign's largest pixels, with their weights.
OpSpec roi_align_choice_row() {
  return {.name = "RoiAlignChoice",
          .domain = "podium",
          .inputs = {{"X"}, {"rois"}, {"batch_indices", 'I'}, {"of"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}, {'I', kInt64}},
          .attributes = attributes_of(vision_ops, "RoiAlign", {}),
          .infer = row_of(vision_ops, "RoiAlign").infer,
          .work = work_per_element<8>};
}

}  // namespace

std::span<const OpSpec> gradient_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = kNotWorkedOut}, {
                                                                             cofactors_row(),
                                                                             conv_weight_gradient_row(),
                                                                             grid_sample_grid_gradient_row(),
                                                                             grid_sample_input_gradient_row(),
                                                                             gru_gradient_row(),
                                                                             late_gradient_row(),
                                                                             lstm_gradient_row(),
                                                                             max_pool_gradient_row(),
                                                                             max_roi_pool_choice_row(),
                                                                             max_roi_pool_gradient_row(),
                                                                             resize_gradient_row(),
                                                                             rnn_gradient_row(),
                                                                             roi_align_choice_row(),
                                                                             roi_align_gradient_row(),
                                                                             sum_pool_gradient_row(),
                                                                         });
  return kRows;
}

}  // namespace podium::ir
