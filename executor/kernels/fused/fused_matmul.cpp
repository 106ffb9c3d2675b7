// A float product with constant, packed weights, and what follows it: bias, residual, activation. That of a
// few rows waits for memory alone, and that of many rows for large weights: these lie in strips. Others are
// oneDNN's: convolutions of windows of one element where it packs no weights of products.
#include <algorithm>
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/strip_products.h"

namespace podium::kernels {

using dnnl::memory;

namespace {

struct StripCall {
  StripWeights weights;
  std::int64_t rows = 0;
  Clamp clamp = kNoClamp;
  ActivationPass activation = {};

  void operator()(const RunContext& run) const {
    multiply_strips(weights, {.x = run.input(0).data<float>(),
                              .rows = rows,
                              .y = run.output(0).data<float>(),
                              .row_y = weights.columns,
                              .bias = run.has_input(2) ? run.input(2).data<float>() : nullptr,
                              .addend = run.has_input(3) ? run.input(3).data<float>() : nullptr,
                              .low = clamp.low,
                              .high = clamp.high});
    activation(run);
  }
};

PreparedKernel prepare_as_convolution(PrepareContext& context, const Product& product, const Tensor& known) {
  const ProductConvolution of(product, onednn::Element::f32);
  ConvolutionPlan plan{.x = of.x,
                       .y = of.y,
                       .weights = of.weights.dims(),
                       .window = of.window,
                       .bias = context.has_input(2) ? onednn::plain({product.n}) : memory::desc(),
                       .has_residual = context.has_input(3)};
  plan.set_ending(context);
  DirectConvolution direct = direct_convolution(
      plan, [&](const memory::desc& layout) { return onednn::packed(context, known, of.weights, layout); });
  context.need_scratch(direct.scratch);
  return std::move(direct.run);
}

// Of fewer, most of a strip would be filled up.
bool has_enough_columns(const Product& product) { return product.n >= kStrip / 2; }

// Rows that go over a strip once wait for memory alone.
bool has_few_rows(const Product& product) {
  return has_enough_columns(product) && product.m <= kMostFloatRows;
}

// Many rows hide how long weights take that a second-level cache does not keep; with those that it keeps, or
// columns that leave a part of a strip empty, the library is as fast or faster (measured on a machine with
// AVX-512).
bool pays_by_strips(const Product& product) {
  constexpr std::int64_t kLeastRows = 16;
  if (!has_enough_columns(product)) return false;
  if (has_few_rows(product)) return true;
  const std::int64_t filled = strip_count(product.n) * kStrip;
  return kLibraryPacksProducts && product.m >= kLeastRows && product.k * product.n >= kKeptFloats &&
         8 * filled <= 9 * product.n;
}

}  // namespace

PreparedKernel prepare_fused_matmul(PrepareContext& context) {
  IR_CHECK(context.constant(1) != nullptr, "the weights of a fused product are not constant");
  const Dims& given = context.dims(1);
  const bool transposed = context.get_int("transB") != 0;
  const std::int64_t inner = transposed ? given[1] : given[0];
  const std::int64_t columns = transposed ? given[0] : given[1];
  const std::int64_t rows = context.input(0).element_count() / inner;
  const Product product{.m = rows, .n = columns, .k = inner, .transpose_b = transposed};
  // A few rows wait for the weights, which so stay as narrow as they are.
  const Tensor known = has_few_rows(product) ? *context.constant(1) : as_float(*context.constant(1));
  if (pays_by_strips(product)) {
    std::size_t scratch = 0;
    StripCall kernel{
        .weights = strips_of(context, known, transposed ? StripSource::Transposed : StripSource::Plain),
        .rows = rows,
        .clamp = clamp_of(context).value_or(kNoClamp),
        .activation = ActivationPass(onednn::plain({rows, columns}), activation_of(context), scratch)};
    context.need_scratch(scratch);
    return kernel;
  }
  if (!kLibraryPacksProducts && has_enough_columns(product))
    return prepare_as_convolution(context, product, known);
  PackedCall kernel{.has_bias = context.has_input(2),
                    .has_residual = context.has_input(3),
                    .clamp = clamp_of(context),
                    .is_by_one_thread = !kLibraryPacksProducts};
  const auto a = onednn::plain({rows, inner});
  const auto y = onednn::plain({rows, columns});
  const auto bias = kernel.has_bias ? onednn::plain({1, columns}) : memory::desc();
  const auto weights =
      transposed ? onednn::strided({inner, columns}, {1, inner}) : onednn::plain({inner, columns});
  dnnl::post_ops post_ops;
  if (kernel.has_residual) post_ops.append_sum(1.0F);
  append_activation(post_ops, activation_of(context));
  std::size_t scratch = 0;
  const auto make = [&](const memory::desc& layout) {
    const dnnl::matmul::desc description(a, layout, bias, y);
    dnnl::matmul::primitive_desc primitive(description, onednn::attributes(post_ops), onednn::cpu());
    scratch = std::max(scratch, primitive.scratchpad_desc().get_size());
    return primitive;
  };
  const auto call = [&](const dnnl::matmul::primitive_desc& primitive) {
    return onednn::make_call(dnnl::matmul(primitive), primitive,
                             {{DNNL_ARG_SRC, a},
                              {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                              {DNNL_ARG_BIAS, bias},
                              {DNNL_ARG_DST, y}});
  };
  const auto primitive = make(onednn::any({inner, columns}));
  kernel.weights = onednn::packed(context, known, weights, primitive.weights_desc());
  kernel.call = call(primitive);
  if (kernel.clamp && !kernel.has_residual) {  // the sum has overwritten the residual
    kernel.clamp->append_to(post_ops);
    kernel.clamping = call(make(primitive.weights_desc()));
  }
  context.need_scratch(scratch);
  return kernel;
}

}  // namespace podium::kernels
