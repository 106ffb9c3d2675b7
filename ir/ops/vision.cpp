#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {
namespace {

void check_shape(const InferContext& context, std::size_t i, std::string_view form, std::size_t rank) {
  if (!context.has_rank(i) || context.dims(i).size() == rank) return;
  throw Error("{} has shape {}, {} needed", context.op.spec->inputs[i].name, to_string(context.dims(i)),
              form);
}

// Both numbers when they agree or one is unknown.
void check_same(std::int64_t a, std::int64_t b, std::string_view what) {
  if (a != b && a != kUnknown && b != kUnknown)
    throw Error("{} {} and {}: they must be the same", what, a, b);
}

void infer_non_max_suppression(InferContext& context) {
  check_shape(context, 0, "[batches, boxes, 4]", 3);
  check_shape(context, 1, "[batches, classes, boxes]", 3);
  if (context.has_rank(0)) check_same(context.dims(0)[2], 4, "numbers of a box:");
  if (context.has_rank(0) && context.has_rank(1)) {
    check_same(context.dims(0)[0], context.dims(1)[0], "batches of boxes and scores:");
    check_same(context.dims(0)[1], context.dims(1)[2], "boxes and scores:");
  }
  context.set_output(0, DataType::Int64, {kUnknown, 3});
}

void infer_roi_align(InferContext& context) {
  check_shape(context, 0, "[batches, channels, height, width]", 4);
  check_shape(context, 1, "[regions, 4]", 2);
  check_shape(context, 2, "[regions]", 1);
  Dims dims{kUnknown, kUnknown, context.get_int("output_height"), context.get_int("output_width")};
  if (dims[2] < 1 || dims[3] < 1) throw Error("output is {} x {}, at least 1 x 1 needed", dims[2], dims[3]);
  if (context.has_rank(0)) dims[1] = context.dims(0)[1];
  if (context.has_rank(1)) {
    check_same(context.dims(1)[1], 4, "numbers of a region:");
    dims[0] = context.dims(1)[0];
  }
  if (context.has_rank(2)) {
    check_same(dims[0], context.dims(2)[0], "regions in rois and batch_indices:");
    if (dims[0] == kUnknown) dims[0] = context.dims(2)[0];
  }
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_image_decoder(InferContext& context) {
  check_shape(context, 0, "[bytes]", 1);
  const std::string& format = context.get_string("pixel_format");
  if (format != "RGB" && format != "BGR" && format != "Grayscale") {
    throw Error("pixel_format is '{}', RGB, BGR or Grayscale needed", format);
  }
  context.set_output(0, DataType::Uint8, {kUnknown, kUnknown, format == "Grayscale" ? 1 : 3});
}

// The comparisons when every box survives: an upper bound, as data decides.
Work work_of_suppression(const TypedOp& op) {
  const std::int64_t scores = op.input(1).element_count();
  if (scores <= 0) return {};
  const auto boxes = static_cast<double>(op.dims(1)[2]);
  return {.flop = static_cast<double>(scores) * boxes * 8, .bytes = io_bytes(op)};
}

Work work_of_roi_align(const TypedOp& op) {
  const std::int64_t count = op.output(0).element_count();
  const auto ratio = static_cast<double>(std::max<std::int64_t>(op.get_int("sampling_ratio"), 1));
  return {.flop = count < 0 ? 0 : static_cast<double>(count) * ratio * ratio * 8, .bytes = io_bytes(op)};
}

OpSpec non_max_suppression() {
  return {.name = "NonMaxSuppression",
          .since = 11,
          .gained = 10,
          .inputs = {{"boxes", 'T'},
                     {"scores", 'T'},
                     {"max_output_boxes_per_class", 'I', Formal::Optional},
                     {"iou_threshold", 'T', Formal::Optional},
                     {"score_threshold", 'T', Formal::Optional}},
          .outputs = {{"selected_indices", 'I'}},
          .types = {{'T', {DataType::Float}}, {'I', kInt64}},
          .attributes = {with_default("center_point_box", std::int64_t{0})},
          .infer = infer_non_max_suppression,
          .work = work_of_suppression,
          .no_gradient = "its output is not a floating point number"};
}

OpSpec roi_align() {
  return {
      .name = "RoiAlign",
      .since = 22,
      .gained = 10,
      .inputs = {{"X", 'T'}, {"rois", 'T'}, {"batch_indices", 'I'}},
      .outputs = {{"Y", 'T'}},
      .types = {{'T', kFloats}, {'I', kInt64}},
      .attributes = {with_default("coordinate_transformation_mode", std::string("half_pixel")),
                     with_default("mode", std::string("avg")), with_default("output_height", std::int64_t{1}),
                     with_default("output_width", std::int64_t{1}),
                     with_default("sampling_ratio", std::int64_t{0}), with_default("spatial_scale", 1.0F)},
      .infer = infer_roi_align,
      .work = work_of_roi_align};
}

OpSpec image_decoder() {
  return {.name = "ImageDecoder",
          .since = 20,
          .gained = 20,
          .inputs = {{"encoded_stream", 'B'}},
          .outputs = {{"image", 'B'}},
          .types = {{'B', {DataType::Uint8}}},
          .attributes = {with_default("pixel_format", std::string("RGB"))},
          .infer = infer_image_decoder,
          .work = work_of_moving,
          .no_gradient = "its input is a file"};
}

}  // namespace

std::span<const OpSpec> vision_ops() {
  static const std::vector<OpSpec> kRows = family({.category = Category::Plain, .no_samples = kNotWorkedOut},
                                                  {non_max_suppression(), roi_align(), image_decoder()});
  return kRows;
}

}  // namespace podium::ir
