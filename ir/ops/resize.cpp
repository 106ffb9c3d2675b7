// Resize, GridSample, AffineGrid: shapes and the words that their attributes may have.
// Sizes come from resize_axes.h, which the kernel uses too, by scales or by sizes; older models pass an empty
// tensor for the one that is not meant. Where neither is known before the run, the resized dimensions are
// unknown.
#include <algorithm>
#include <numeric>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/resize_axes.h"

namespace podium::ir {

namespace {

void check_choice(const InferContext& context, std::string_view name,
                  std::initializer_list<std::string_view> choices) {
  const std::string& chosen = context.get_string(name);
  std::string text;
  for (std::string_view choice : choices) {
    if (chosen == choice) return;
    text += text.empty() ? "" : ", ";
    text += choice;
  }
  throw Error("{} is '{}', it must be one of {}", name, chosen, text);
}

void check_resize_attributes(const InferContext& context) {
  check_choice(context, "mode", {"nearest", "linear", "cubic"});
  check_choice(context, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  // The last one is of version 11 alone; no newer one says the same.
  check_choice(context, "coordinate_transformation_mode",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_crop_and_resize", "tf_half_pixel_for_nn"});
}

// An input that is there and not, as older models have it, an empty tensor.
bool is_given(const InferContext& context, std::size_t i) {
  return context.has_input(i) && context.input(i).element_count() != 0;
}

void infer_resize(InferContext& context) {
  check_resize_attributes(context);
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  const Dims& x = context.dims(0);
  const auto rank = std::ssize(x);
  Dims axes(x.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto* given = context.get_if<IntList>("axes"); given != nullptr && !given->empty()) {
    axes = *given;
    for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank, "axes");
  }
  const bool has_scales = is_given(context, 2);
  const bool has_sizes = is_given(context, 3);
  if (!has_scales && !has_sizes) throw Error("neither scales nor sizes are given");
  const Tensor* scales = has_scales ? context.constant(2) : nullptr;
  const Tensor* sizes = has_sizes ? context.constant(3) : nullptr;
  // Where the shape of scales is unknown, sizes may turn out to be the input that counts.
  if (scales != nullptr && scales->size() == 0) scales = nullptr;
  if (sizes != nullptr && sizes->size() == 0) sizes = nullptr;
  if (scales != nullptr && sizes != nullptr) {
    throw Error("both scales and sizes are given, only one is allowed");
  }
  Dims dims = x;
  if (scales == nullptr && sizes == nullptr) {
    for (std::int64_t axis : axes) dims[axis] = kUnknown;
  } else {
    const auto result = resized_axes(x, axes, context.get_string("keep_aspect_ratio_policy"), scales, sizes);
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = result[i].output;
  }
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_grid_sample(InferContext& context) {
  check_choice(context, "mode", {"linear", "nearest", "cubic"});
  check_choice(context, "padding_mode", {"zeros", "border", "reflection"});
  if (!context.has_rank(0) || !context.has_rank(1)) return context.set_output_element(0, context.element(0));
  const Dims& x = context.dims(0);
  const Dims& grid = context.dims(1);
  const std::int64_t axes = std::ssize(x) - 2;
  const bool fits = axes >= 1 && grid.size() == x.size() &&
                    (grid.back() == axes || grid.back() == kUnknown) &&
                    (grid[0] == x[0] || grid[0] == kUnknown || x[0] == kUnknown);
  if (!fits) {
    throw Error("grid has shape {}, [N, spatial..., {}] needed for an input of {}", to_string(grid), axes,
                to_string(x));
  }
  Dims dims{x[0], x[1]};
  dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_affine_grid(InferContext& context) {
  const DataType element = context.element(0);
  const Tensor* size = context.constant(1);
  std::int64_t rank = kUnknown;
  if (context.has_rank(0)) {
    const Dims& theta = context.dims(0);
    if (theta.size() != 3) throw Error("theta has shape {}, [N, 2, 3] or [N, 3, 4] needed", to_string(theta));
    if (theta[1] != kUnknown) rank = theta[1];
  }
  if (size == nullptr) {
    if (rank == kUnknown) return context.set_output_element(0, element);
    Dims dims(rank + 2, kUnknown);
    dims.back() = rank;
    return context.set_output(0, element, std::move(dims));
  }
  const Dims wanted = size->to_ints();
  if (wanted.size() != 4 && wanted.size() != 5) {
    throw Error("size is {}, [N, C, H, W] or [N, C, D, H, W] needed", to_string(wanted));
  }
  if (std::ranges::any_of(wanted, [](std::int64_t entry) { return entry < 0; }))
    throw Error("size is {}, no negative entry needed", to_string(wanted));
  const auto axes = std::ssize(wanted) - 2;
  if (context.has_rank(0)) {
    const Dims expected{wanted[0], axes, axes + 1};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t found = context.dims(0)[i];
      if (found == kUnknown || found == expected[i]) continue;
      throw Error("theta has shape {}, {} needed for size {}", to_string(context.dims(0)),
                  to_string(expected), to_string(wanted));
    }
  }
  Dims dims{wanted[0]};
  dims.insert(dims.end(), wanted.begin() + 2, wanted.end());
  dims.push_back(axes);
  context.set_output(0, element, std::move(dims));
}

OpSpec resize_row() {
  return {
      .name = "Resize",
      .since = 19,
      .gained = 10,
      .inputs = {{"X"},
                 {"roi", 'R', Formal::Optional},
                 {"scales", 'S', Formal::Optional},
                 {"sizes", 'I', Formal::Optional}},
      .outputs = {{"Y"}},
      .types = {{'T', kNumeric | kBool | kString | kComplex},
                {'R', {DataType::Float, DataType::Float16, DataType::Double}},
                {'S', {DataType::Float}},
                {'I', kInt64}},
      .attributes = {with_default("antialias", std::int64_t{0}), may_have("axes", AttributeKind::Ints),
                     with_default("coordinate_transformation_mode", std::string("half_pixel")),
                     with_default("cubic_coeff_a", -0.75F), with_default("exclude_outside", std::int64_t{0}),
                     with_default("extrapolation_value", 0.0F),
                     with_default("keep_aspect_ratio_policy", std::string("stretch")),
                     with_default("mode", std::string("nearest")),
                     with_default("nearest_mode", std::string("round_prefer_floor"))},
      .infer = infer_resize,
      .work = work_per_element<4>,
      .samples = first_axis};
}

OpSpec grid_sample_row() {
  constexpr unsigned kGrid = 1U << 1;
  return {.name = "GridSample",
          .since = 22,
          .gained = 16,
          .inputs = {{"X"}, {"grid", 'G'}},
          .outputs = {{"Y"}},
          .types = {{'T', kNumeric | kBool | kString | kComplex}, {'G', kFloats}},
          .attributes = {with_default("align_corners", std::int64_t{0}),
                         with_default("mode", std::string("linear")),
                         with_default("padding_mode", std::string("zeros"))},
          .infer = infer_grid_sample,
          .work = work_per_element<8>,
          .samples = first_axis_of<kGrid>};
}

OpSpec affine_grid_row() {
  return {.name = "AffineGrid",
          .since = 20,
          .gained = 20,
          .inputs = {{"theta"}, {"size", 'I'}},
          .outputs = {{"grid"}},
          .types = {{'T', kFloats}, {'I', kInt64}},
          .attributes = {with_default("align_corners", std::int64_t{0})},
          .infer = infer_affine_grid,
          .work = work_per_element<6>,
          .no_samples = kNotWorkedOut};
}

}  // namespace

std::span<const OpSpec> resize_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain}, {resize_row(), grid_sample_row(), affine_grid_row()});
  return kRows;
}

}  // namespace podium::ir
