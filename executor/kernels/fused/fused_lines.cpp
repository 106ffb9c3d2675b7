// A convolution of lines of many channels, as products. A line lies element by element, all channels of each
// side by side, so that as many taps as the window moves by are a row of consecutive numbers, and the rows of
// all windows are a matrix whose rows lie a move apart. A window of more taps is a sum of such products, of
// which each but the first adds to the result. Padding is written around a copy of the lines.
#include <algorithm>
#include <array>

#include "executor/kernels/fused/fused_conv.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

// Windows that lie this far apart, or a multiple of it, share the sets of the first cache: the library's
// convolution, which reads them where they are, takes 1.25 times as long as for others, but its product of a
// matrix does not. Measured on a machine with AVX-512.
constexpr std::int64_t kConflictBytes = 4096;
constexpr std::int64_t kLeastFilters = 256;

struct LineShape {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t length;
  std::int64_t pad_begin;
  std::int64_t pad_end;
  std::int64_t filters;
  std::int64_t windows;
  std::int64_t taps;
  std::int64_t move;

  bool is_padded() const { return pad_begin > 0 || pad_end > 0; }
  std::int64_t padded() const { return pad_begin + length + pad_end; }
};

std::optional<LineShape> shape_of_lines(const ConvolutionPlan& plan) {
  if (plan.weights.size() != 3 || plan.window.dilations[0] != 0) return std::nullopt;
  const LineShape shape{.batch = plan.x[0],
                        .channels = plan.x[1],
                        .length = plan.x[2],
                        .pad_begin = plan.window.pads_begin[0],
                        .pad_end = plan.window.pads_end[0],
                        .filters = plan.y[1],
                        .windows = plan.y[2],
                        .taps = plan.weights[2],
                        .move = plan.window.strides[0]};
  const std::int64_t apart = shape.move * shape.channels * std::int64_t{sizeof(float)};
  const bool pays = shape.taps > 1 && apart % kConflictBytes == 0 && shape.filters >= kLeastFilters;
  const bool has_room = shape.pad_begin >= 0 && shape.pad_end >= 0 && shape.windows > 0 &&
                        (shape.windows - 1) * shape.move + shape.taps <= shape.padded();
  return pays && has_room ? std::optional(shape) : std::nullopt;
}

// Taps [first, first + count) of the window.
struct Taps {
  std::int64_t first;
  std::int64_t count;
};

// [M, C, taps] to [taps of these, C, M].
Tensor by_taps(const Tensor& weights, const LineShape& shape, Taps taps) {
  Tensor rows(DataType::Float, {taps.count * shape.channels, shape.filters});
  const float* from = weights.data<float>();
  float* to = rows.data<float>();
  for (std::int64_t m = 0; m < shape.filters; ++m) {
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      for (std::int64_t t = 0; t < taps.count; ++t)
        to[(t * shape.channels + c) * shape.filters + m] =
            from[(m * shape.channels + c) * shape.taps + taps.first + t];
    }
  }
  return rows;
}

struct TapProduct {
  std::shared_ptr<const onednn::Call> call;
  Tensor weights;
  std::int64_t first = 0;  // element of a line that the first window's row begins with
};

struct LineProducts {
  LineShape shape;
  std::vector<TapProduct> products = {};
  bool has_bias = false;
  bool has_residual = false;
  std::optional<Clamp> clamp = {};
  std::size_t lines_bytes = 0;  // of the padded copy in front of the primitives' scratch memory

  void operator()(const RunContext& run) const {
    Tensor& y = run.output(0);
    if (has_residual) start_from_residual(run);
    const float* lines = shape.is_padded() ? pad(run) : run.input(0).data<float>();
    const void* bias = has_bias ? run.input(2).raw() : nullptr;
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      for (const TapProduct& product : products) {
        const float* x = lines + (n * shape.padded() + product.first) * shape.channels;
        (*product.call)(std::array<const void*, 5>{
            x, product.weights.raw(), product.first == 0 ? bias : nullptr,
            y.data<float>() + n * shape.windows * shape.filters, run.scratch_memory + lines_bytes});
      }
    }
    if (clamp) clamp->apply(y);
  }

 private:
  const float* pad(const RunContext& run) const {
    const float* from = run.input(0).data<float>();
    auto* lines = reinterpret_cast<float*>(run.scratch_memory);
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      float* to = lines + n * shape.padded() * shape.channels;
      to = std::fill_n(to, shape.pad_begin * shape.channels, 0.0F);
      to = std::copy_n(from + n * shape.length * shape.channels, shape.length * shape.channels, to);
      std::fill_n(to, shape.pad_end * shape.channels, 0.0F);
    }
    return lines;
  }
};

}  // namespace

std::optional<PreparedKernel> prepare_line_products(PrepareContext& context, const ConvolutionPlan& plan) {
  const std::optional<LineShape> shape = shape_of_lines(plan);
  if (!shape) return std::nullopt;
  LineProducts kernel{.shape = *shape,
                      .has_bias = !plan.bias.is_zero(),
                      .has_residual = plan.has_residual,
                      .clamp = plan.clamp};
  const auto y = onednn::plain({shape->windows, shape->filters});
  std::size_t scratch = 0;
  for (std::int64_t first = 0; first < shape->taps; first += shape->move) {
    const Taps taps{first, std::min(shape->move, shape->taps - first)};
    const bool is_last = first + shape->move >= shape->taps;
    const std::int64_t inner = taps.count * shape->channels;
    const auto x = onednn::strided({shape->windows, inner}, {shape->move * shape->channels, 1});
    const auto bias = first == 0 && kernel.has_bias ? onednn::plain({1, shape->filters}) : memory::desc();
    dnnl::post_ops post_ops;
    if (first > 0 || plan.has_residual) post_ops.append_sum(1.0F);
    if (is_last) append_activation(post_ops, plan.activation);
    const dnnl::matmul::desc description(x, onednn::any({inner, shape->filters}), bias, y);
    const dnnl::matmul::primitive_desc primitive(description, onednn::attributes(post_ops), onednn::cpu());
    scratch = std::max(scratch, primitive.scratchpad_desc().get_size());
    kernel.products.push_back(
        {.call = onednn::make_call(dnnl::matmul(primitive), primitive,
                                   {{DNNL_ARG_SRC, x},
                                    {DNNL_ARG_WEIGHTS, primitive.weights_desc()},
                                    {DNNL_ARG_BIAS, bias},
                                    {DNNL_ARG_DST, y}}),
         .weights = onednn::packed(context, by_taps(*context.constant(1), *shape, taps),
                                   onednn::plain({inner, shape->filters}), primitive.weights_desc()),
         .first = first});
  }
  if (shape->is_padded())
    kernel.lines_bytes =
        onednn::aligned(shape->batch * shape->padded() * shape->channels * std::int64_t{sizeof(float)});
  context.need_scratch(kernel.lines_bytes + scratch);
  return kernel;
}

}  // namespace podium::kernels
