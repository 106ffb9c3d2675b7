// Convolutions of bytes on channels-last memory, in oneDNN, and products of matrices, which are convolutions
// of one element over rows. Their sums are exact: 32-bit numbers, with the zero point taken off by the
// library. What comes behind goes over a piece of them at a time, element by element, and rounds as often as
// ops of their own would: a product with the scales, a sum with the bias, a clamp, quantizing. A bias of 32
// bits is that of QLinearConv, which is added to the sums before they are multiplied. Scales and bias are
// repeated until a row of them is long enough for vectors. Sums that become floats lie in the memory of Y
// from the start, others in scratch memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/quantize.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

using dnnl::memory;
using onednn::Element;

enum Input : std::size_t { kX, kWeights, kScale, kBias, kZeroOfX, kScaleOfY, kZeroOfY };

float zero_point(const PrepareContext& context, std::size_t input) {
  return *as_float(*context.constant(input)).data<float>();
}

// What is done with the sums, which come channel by channel, over and over.
class Finish {
 public:
  explicit Finish(const PrepareContext& context)
      : channels_(context.output(0).dims.back()),
        row_(channels_ * std::max<std::int64_t>(1, kLeastRow / channels_)),
        scale_(repeated<float>(context, kScale)),
        clamp_(clamp_of(context)) {
    const bool is_whole = context.has_input(kBias) && context.element(kBias) == DataType::Int32;
    if (is_whole) whole_bias_ = repeated<std::int32_t>(context, kBias);
    if (!is_whole) bias_ = repeated<float>(context, kBias);
    if (context.has_input(kScaleOfY)) scale_of_y_ = *context.constant(kScaleOfY)->data<float>();
    if (context.has_input(kZeroOfY)) zero_of_y_ = zero_point(context, kZeroOfY);
  }

  /// `y` may be the memory of the sums.
  void run(const std::int32_t* sums, Tensor& y) const {
    const std::int64_t rows = (y.size() + row_ - 1) / row_;
    parallel_ranges(rows, row_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin * row_; first < std::min(end * row_, y.size()); first += kPiece) {
        const std::int64_t last = std::min({first + kPiece, end * row_, y.size()});
        finish(sums, first, last, y);
      }
    });
  }

 private:
  static constexpr std::int64_t kLeastRow = 256;
  static constexpr std::int64_t kPiece = 2048;

  // One number stands for all channels. Nothing where there is no such input.
  template <class T>
  std::vector<T> repeated(const PrepareContext& context, std::size_t input) const {
    if (!context.has_input(input)) return {};
    const auto numbers = context.constant(input)->values<T>();
    std::vector<T> row(row_);
    for (std::int64_t i = 0; i < row_; ++i) row[i] = numbers[numbers.size() == 1 ? 0 : i % channels_];
    return row;
  }

  void finish(const std::int32_t* sums, std::int64_t first, std::int64_t last, Tensor& y) const {
    if (y.type() == DataType::Float) {
      as_floats(sums, first, last, [&](const float* numbers, std::int64_t count) {
        std::memcpy(y.data<float>() + first, numbers, count * sizeof(float));
      });
    } else if (y.type() == DataType::Int8) {
      finish_bytes(sums, first, last, y.data<std::int8_t>());
    } else {
      finish_bytes(sums, first, last, y.data<std::uint8_t>());
    }
  }

  template <class Byte>
  void finish_bytes(const std::int32_t* sums, std::int64_t first, std::int64_t last, Byte* y) const {
    if (!whole_bias_.empty()) {
      return for_each_stretch(first, last, [&](std::int64_t at, std::int64_t place, std::int64_t count) {
        requantize(sums + at, place, count, y + at);
      });
    }
    as_floats(sums, first, last, [&](const float* numbers, std::int64_t count) {
      quantize_floats<0>(numbers, {&scale_of_y_, &zero_of_y_}, count, y + first);
    });
  }

  // Calls body(first element, its place in a row, count).
  template <class Body>
  void for_each_stretch(std::int64_t first, std::int64_t last, const Body& body) const {
    while (first < last) {
      const std::int64_t place = first % row_;
      const std::int64_t count = std::min(row_ - place, last - first);
      body(first, place, count);
      first += count;
    }
  }

  // Calls use(numbers, how many).
  template <class Use>
  void as_floats(const std::int32_t* sums, std::int64_t first, std::int64_t last, const Use& use) const {
    alignas(64) std::array<float, kPiece> piece;
    for_each_stretch(first, last, [&](std::int64_t at, std::int64_t place, std::int64_t count) {
      scale_and_shift(sums + at, count, place, piece.data() + (at - first));
    });
    const std::int64_t count = last - first;
    if (clamp_) clamp_->apply(std::span(piece.data(), count));
    use(piece.data(), count);
  }

  template <class Byte>
  void requantize(const std::int32_t* sums, std::int64_t place, std::int64_t count, Byte* y) const {
    constexpr double kLeast = std::numeric_limits<Byte>::lowest();
    constexpr double kMost = std::numeric_limits<Byte>::max();
    const std::int32_t* bias = whole_bias_.data() + place;
    const float* factor = scale_.data() + place;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const double scaled = (static_cast<double>(sums[i]) + bias[i]) * static_cast<double>(factor[i]);
      const double wide = std::nearbyint(scaled) + static_cast<double>(zero_of_y_);
      const double above = wide > kLeast ? wide : kLeast;
      y[i] = static_cast<Byte>(static_cast<std::int32_t>(above < kMost ? above : kMost));
    }
  }

  // In a loop each, or the compiler would round a product and the sum with it once.
  void scale_and_shift(const std::int32_t* sums, std::int64_t count, std::int64_t place,
                       float* numbers) const {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(sums[i]);
    if (!scale_.empty()) {
      const float* scale = scale_.data() + place;
      for (std::int64_t i = 0; i < count; ++i) numbers[i] *= scale[i];
    }
    if (!bias_.empty()) {
      const float* bias = bias_.data() + place;
      for (std::int64_t i = 0; i < count; ++i) numbers[i] += bias[i];
    }
  }

  std::int64_t channels_;
  std::int64_t row_;
  std::vector<float> scale_;
  std::vector<float> bias_;
  std::vector<std::int32_t> whole_bias_;
  std::optional<Clamp> clamp_;
  float scale_of_y_ = 1;
  float zero_of_y_ = 0;
};

// A product of bytes as the library sees it.
struct ByteProduct {
  Dims x;  ///< logical
  Dims y;
  memory::desc weights;  ///< as they are given
  ConvolutionWindow window;
};

dnnl::convolution_forward::primitive_desc primitive_of(const PrepareContext& context,
                                                       const ByteProduct& product, const memory::desc& x,
                                                       const memory::desc& y) {
  const ConvolutionWindow& window = product.window;
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x,
      onednn::any(product.weights.dims(), Element::s8), y, window.strides, window.dilations,
      window.pads_begin, window.pads_end);
  dnnl::primitive_attr attributes = onednn::attributes();
  if (context.has_input(kZeroOfX)) {
    const auto zero = static_cast<std::int32_t>(zero_point(context, kZeroOfX));
    if (zero != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {zero});
  }
  return {description, attributes, onednn::cpu()};
}

PreparedKernel prepare_product(PrepareContext& context, const ByteProduct& product) {
  const Element element = context.element(kX) == DataType::Int8 ? Element::s8 : Element::u8;
  const memory::desc x = onednn::channels_last(product.x, element);
  const memory::desc y = onednn::channels_last(product.y, Element::s32);
  const auto primitive = primitive_of(context, product, x, y);
  const Tensor weights =
      onednn::packed(context, *context.constant(kWeights), product.weights, primitive.weights_desc());
  const auto call =
      onednn::make_call(dnnl::convolution_forward(primitive), primitive,
                        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, primitive.weights_desc()}, {DNNL_ARG_DST, y}});
  const bool is_float = context.output(0).element == DataType::Float;
  const std::size_t library = onednn::aligned(primitive.scratchpad_desc().get_size());
  context.need_scratch(library + (is_float ? 0 : y.get_size()));
  return [=, finish = Finish(context)](const RunContext& run) {
    Tensor& result = run.output(0);
    void* const sums = is_float ? result.raw() : run.scratch_memory + library;
    (*call)(std::array<const void*, 4>{run.input(kX).raw(), weights.raw(), sums, run.scratch_memory});
    finish.run(static_cast<const std::int32_t*>(sums), result);
  };
}

}  // namespace

PreparedKernel prepare_byte_convolution(PrepareContext& context) {
  const Dims weights = grouped(context.dims(kWeights), context.get_int("group"));
  return prepare_product(context, {.x = logical_dims(context.dims(kX)),
                                   .y = logical_dims(context.output(0).dims),
                                   .weights = onednn::plain(weights, Element::s8),
                                   .window = window_of(context)});
}

PreparedKernel prepare_byte_matmul(PrepareContext& context) {
  const std::int64_t depth = context.dims(kX).back();
  const std::int64_t columns = context.output(0).dims.back();
  const std::int64_t rows = context.output(0).element_count() / columns;
  const ProductConvolution of(
      {.m = rows, .n = columns, .k = depth, .transpose_b = context.get_int("transB") != 0}, Element::s8);
  return prepare_product(context, {.x = of.x, .y = of.y, .weights = of.weights, .window = of.window});
}

}  // namespace podium::kernels
