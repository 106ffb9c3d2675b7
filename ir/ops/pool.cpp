// Pools: over windows (window.h), over whole images, and MaxUnpool, MaxRoiPool.
// Infer is the window's; MaxPool's indices have the output's shape. MaxUnpool takes its shape from the
// attributes, or from its third input, whose numbers must then be known. Work is one operation per element
// that a window sees.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/window.h"

namespace podium::ir {

namespace {

void infer_pool(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  const Dims& x = context.dims(0);
  context.set_output(0, context.element(0), windowed_dims(x[0], x[1], pool_window(context, x)));
}

void infer_max_pool(InferContext& context) {
  const std::int64_t order = context.get_int("storage_order");
  if (order != 0 && order != 1) throw Error("storage_order is {}, 0 or 1 needed", order);
  infer_pool(context);
  Type indices = context.has_output(0) ? context.output_types[0] : Type{};
  indices.element = DataType::Int64;
  context.set_output(1, std::move(indices));
}

void infer_global_pool(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  if (dims.size() < 2) throw Error("input has shape {}, at least [N, C] needed", to_string(dims));
  for (std::size_t i = 2; i < dims.size(); ++i) dims[i] = 1;
  context.set_output(0, context.element(0), std::move(dims));
}

// The shape from the attributes alone, or the one that input 2 asks for.
void infer_max_unpool(InferContext& context) {
  if (const Tensor* wanted = context.has_input(2) ? context.constant(2) : nullptr) {
    Dims dims = wanted->to_ints();
    if (context.has_rank(0) && dims.size() != context.dims(0).size()) {
      throw Error("output_shape is {}, rank {} needed", to_string(dims), context.dims(0).size());
    }
    if (std::ranges::any_of(dims, [](std::int64_t size) { return size < 0; }))
      throw Error("output_shape is {}, no negative size needed", to_string(dims));
    return context.set_output(0, context.element(0), std::move(dims));
  }
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims =
      context.has_input(2) ? Dims(context.dims(0).size(), kUnknown) : unpooled_dims(context, context.dims(0));
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_max_roi_pool(InferContext& context) {
  const auto& pooled = context.get<IntList>("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
    throw Error("pooled_shape is {}, two positive entries needed", to_string(pooled));
  }
  if (context.has_rank(0) && context.dims(0).size() != 4) {
    throw Error("input has shape {}, [N, C, H, W] needed", to_string(context.dims(0)));
  }
  if (context.has_rank(1) && (context.dims(1).size() != 2 || context.dims(1)[1] != 5)) {
    throw Error("regions have shape {}, [regions, 5] needed", to_string(context.dims(1)));
  }
  const std::int64_t regions = context.has_rank(1) ? context.dims(1)[0] : kUnknown;
  const std::int64_t channels = context.has_rank(0) ? context.dims(0)[1] : kUnknown;
  context.set_output(0, context.element(0), {regions, channels, pooled[0], pooled[1]});
}

// One operation for each element that a window sees.
Work pool_work(const TypedOp& op) {
  const std::int64_t outputs = op.output(0).element_count();
  if (outputs < 0) return {};
  double seen = static_cast<double>(outputs);
  for (std::int64_t size : op.get<IntList>("kernel_shape")) seen *= static_cast<double>(size);
  return {.flop = seen, .bytes = io_bytes(op)};
}

Work global_pool_work(const TypedOp& op) {
  const std::int64_t count = op.input(0).element_count();
  return {.flop = count < 0 ? 0 : static_cast<double>(count), .bytes = io_bytes(op)};
}

std::vector<AttributeSpec> pool_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> attributes{
      with_default("auto_pad", std::string("NOTSET")), must_have("kernel_shape", AttributeKind::Ints),
      may_have("strides", AttributeKind::Ints),        may_have("dilations", AttributeKind::Ints),
      may_have("pads", AttributeKind::Ints),           with_default("ceil_mode", std::int64_t{0})};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

OpSpec pool_row(std::string_view name, std::vector<AttributeSpec> more) {
  return {.name = name,
          .since = 22,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = pool_attributes(std::move(more)),
          .infer = infer_pool,
          .work = pool_work};
}

OpSpec global_pool_row(std::string_view name, std::vector<AttributeSpec> attributes = {}) {
  return {.name = name,
          .since = 22,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = std::move(attributes),
          .infer = infer_global_pool,
          .work = global_pool_work};
}

OpSpec max_pool_row() {
  return {.name = "MaxPool",
          .since = 22,
          .inputs = {{"X"}},
          .outputs = {{"Y"}, {"Indices", 'I', Formal::Optional}},
          .types = {{'T', kFloats | TypeSet{DataType::Int8, DataType::Uint8}}, {'I', kInt64}},
          .attributes = pool_attributes({with_default("storage_order", std::int64_t{0})}),
          .infer = infer_max_pool,
          .work = pool_work};
}

OpSpec max_unpool_row() {
  return {.name = "MaxUnpool",
          .since = 22,
          .gained = 9,
          .inputs = {{"X"}, {"I", 'I'}, {"output_shape", 'I', Formal::Optional}},
          .outputs = {{"output"}},
          .types = {{'T', kFloats}, {'I', kInt64}},
          .attributes = {must_have("kernel_shape", AttributeKind::Ints),
                         may_have("strides", AttributeKind::Ints), may_have("pads", AttributeKind::Ints)},
          .infer = infer_max_unpool,
          .work = work_of_moving,
          .no_samples = kNotWorkedOut};
}

OpSpec max_roi_pool_row() {
  return {.name = "MaxRoiPool",
          .since = 22,
          .inputs = {{"X"}, {"rois"}},
          .outputs = {{"Y"}},
          .types = {{'T', kFloats}},
          .attributes = {must_have("pooled_shape", AttributeKind::Ints), with_default("spatial_scale", 1.0F)},
          .infer = infer_max_roi_pool,
          .work = work_per_element<1>,
          .no_samples = kNotWorkedOut};
}

}  // namespace

std::span<const OpSpec> pool_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .samples = first_axis},
             {
                 pool_row("AveragePool", {with_default("count_include_pad", std::int64_t{0})}),
                 pool_row("LpPool", {with_default("p", std::int64_t{2})}),
                 max_pool_row(),
                 global_pool_row("GlobalAveragePool"),
                 global_pool_row("GlobalMaxPool"),
                 global_pool_row("GlobalLpPool", {with_default("p", std::int64_t{2})}),
                 max_unpool_row(),
                 max_roi_pool_row(),
             });
  return kRows;
}

}  // namespace podium::ir
