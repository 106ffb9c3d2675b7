// A transposed convolution whose windows do not overlap, on channels-last memory: each position of X becomes
// a patch of Y. A row of patches is as many rows of Y as the window has. To each of them X's row is a product
// away, [width, channels] times [channels, window's width x Y's channels], whose result lies as Y wants it.
// The rows of all images are one product with a stride, for each row of the window.
#include <algorithm>
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

using dnnl::memory;

namespace {

struct PatchRow {
  Tensor weights = {};
  std::int64_t offset = 0;  // of its first results in Y
};

struct Patches {
  std::shared_ptr<const onednn::Call> call = {};
  std::vector<PatchRow> rows = {};
  Tensor bias = {};  // repeated along the window's row; undefined: none

  void operator()(const RunContext& run) const {
    auto* const y = run.output(0).data<float>();
    const void* added = bias.defined() ? bias.raw() : nullptr;
    for (const PatchRow& row : rows) {
      (*call)(std::array<const void*, 5>{run.input(0).raw(), row.weights.raw(), added, y + row.offset,
                                         run.scratch_memory});
    }
  }
};

// [C, M, window's height, width] at a row of the window, as [C, width, M].
Tensor weights_of_row(const Tensor& weights, std::int64_t row) {
  const Dims& dims = weights.dims();
  const std::int64_t channels = dims[1];
  const std::int64_t height = dims[2];
  const std::int64_t width = dims[3];
  Tensor result(DataType::Float, {1, dims[0], width * channels});
  float* to = result.data<float>();
  for (std::int64_t c = 0; c < dims[0]; ++c) {
    for (std::int64_t column = 0; column < width; ++column) {
      for (std::int64_t m = 0; m < channels; ++m)
        *to++ = weights.data<float>()[((c * channels + m) * height + row) * width + column];
    }
  }
  return result;
}

Tensor repeated(const Tensor& bias, std::int64_t times) {
  Tensor result(DataType::Float, {1, 1, bias.size() * times});
  for (std::int64_t i = 0; i < times; ++i)
    std::copy_n(bias.data<float>(), bias.size(), result.data<float>() + i * bias.size());
  return result;
}

}  // namespace

PreparedKernel prepare_patches(PrepareContext& context) {
  const Tensor* weights = context.constant(1);
  IR_CHECK(weights != nullptr, "the weights of patches are not constant");
  const Dims& x = context.dims(0);
  const Dims& w = context.dims(1);
  const std::int64_t columns = w[3] * w[1];  // of a row of the window
  const Dims product{x[0] * x[1], x[2], columns};
  const std::int64_t row_of_y = x[2] * columns;
  Patches kernel;
  if (context.has_input(2)) {
    IR_CHECK(context.constant(2) != nullptr, "the bias of patches is not constant");
    kernel.bias = repeated(*context.constant(2), w[3]);
  }
  const auto a = onednn::plain({product[0], product[1], x[3]});
  const auto y = onednn::strided(product, {w[2] * row_of_y, columns, 1});
  const auto bias = kernel.bias.defined() ? onednn::plain(kernel.bias.dims()) : memory::desc();
  const Dims b{1, x[3], columns};
  const dnnl::matmul::desc description(a, onednn::any(b), bias, y);
  const dnnl::matmul::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  kernel.call = onednn::make_call(dnnl::matmul(primitive), primitive,
                                  {{DNNL_ARG_SRC, a},
                                   {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                                   {DNNL_ARG_BIAS, bias},
                                   {DNNL_ARG_DST, y}});
  for (std::int64_t row = 0; row < w[2]; ++row) {
    kernel.rows.push_back({.weights = onednn::packed(context, weights_of_row(*weights, row), onednn::plain(b),
                                                     primitive.weights_desc()),
                           .offset = row * row_of_y});
  }
  context.need_scratch(primitive.scratchpad_desc().get_size());
  return kernel;
}

}  // namespace podium::kernels
