// Convolutions of bytes on channels-last memory, in oneDNN, and products of matrices, which are convolutions
// of one element over rows. Their sums are exact, 32-bit numbers: the library multiplies bytes as they are
// (it has slower kernels for zero points), and what zero points change is added afterwards,
//   sum (x - a)(w + t) = sum x w - a (sum w + depth t) + t sum x,
// where t is what weights lack that do not fit a byte with their sign. For that X is padded with a, so that
// each window has all of its elements. What comes behind goes over a piece of the sums at a time, element by
// element, and rounds as often as ops of their own would: a product with the scales, a sum with the bias, a
// clamp, quantizing. A bias of 32 bits is that of QLinearConv, which is added to the sums before they are
// multiplied. Scales and bias are repeated until a row of them is long enough for vectors. Sums that become
// floats lie in the memory of Y from the start, others in scratch memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "executor/kernels/fused/byte_windows.h"
#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/quantize.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

using dnnl::memory;
using onednn::Element;

enum Input : std::size_t { kX, kWeights, kScale, kBias, kZeroOfX, kScaleOfY, kZeroOfY, kShiftOfWeights };

float zero_point(const PrepareContext& context, std::size_t input) {
  return *as_float(*context.constant(input)).data<float>();
}

// A product of bytes as the library sees it.
struct ByteProduct {
  Dims x;  ///< channels-last
  Dims y;
  Dims kernel;  ///< the spatial axes of a window
  std::int64_t groups = 1;
  memory::desc weights;  ///< as they are given
  ConvolutionWindow window;
  std::int64_t depth = 1;         ///< products in a sum
  std::int64_t channel_step = 1;  ///< from the weights of one channel of Y to those of the next
  std::int64_t depth_step = 1;
};

// What the sums of products of bytes lack for zero points, which the run may know first.
class ZeroPoints {
 public:
  ZeroPoints(const PrepareContext& context, const ByteProduct& product) {
    if (context.has_input(kZeroOfX) && context.constant(kZeroOfX) == nullptr) has_later_zero_ = true;
    if (context.has_input(kZeroOfX) && !has_later_zero_)
      zero_ = static_cast<std::int32_t>(zero_point(context, kZeroOfX));
    if (context.has_input(kShiftOfWeights)) {
      const auto shift = context.constant(kShiftOfWeights)->values<std::int32_t>();
      shift_.assign(shift.begin(), shift.end());
    }
    if (!changes_sums()) return;
    const std::int8_t* weights = context.constant(kWeights)->data<std::int8_t>();
    for (std::int64_t i = 0; i < product.y.back(); ++i) {
      const std::int8_t* of_channel = weights + i * product.channel_step;
      const std::int64_t shift = has_shift() ? shift_[i] : 0;
      auto sum = static_cast<std::uint32_t>(product.depth * shift);
      for (std::int64_t k = 0; k < product.depth; ++k)
        sum += static_cast<std::uint32_t>(of_channel[k * product.depth_step]);
      sums_of_weights_.push_back(sum);
    }
  }

  bool has_later_zero() const { return has_later_zero_; }
  bool changes_sums() const { return has_later_zero_ || zero_ != 0 || has_shift(); }
  bool has_shift() const { return !shift_.empty(); }
  const std::vector<std::int32_t>& shift() const { return shift_; }

  std::int32_t known_zero() const { return zero_; }
  /// The number of X that stands for zero.
  std::int32_t zero(const RunContext& run) const {
    if (!has_later_zero_) return zero_;
    const Tensor& zero = run.input(kZeroOfX);
    return zero.type() == DataType::Int8 ? *zero.data<std::int8_t>() : *zero.data<std::uint8_t>();
  }

  /// What each channel's sums lack beside the sums of windows.
  std::vector<std::int32_t> offsets(std::int32_t zero) const {
    std::vector<std::int32_t> offsets;
    for (const std::uint32_t sum : sums_of_weights_)
      offsets.push_back(static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(zero) * sum));
    return offsets;
  }

 private:
  bool has_later_zero_ = false;
  std::int32_t zero_ = 0;
  std::vector<std::int32_t> shift_;             // of each channel
  std::vector<std::uint32_t> sums_of_weights_;  // with their shift; none where sums lack nothing
};

// What is done with the sums, which come channel by channel, over and over.
class Finish {
 public:
  Finish(const PrepareContext& context, const ByteProduct& product, const ZeroPoints& zeros)
      : channels_(product.y.back()),
        groups_(product.groups),
        row_(channels_ * std::max<std::int64_t>(1, kLeastRow / channels_)),
        zeros_(zeros),
        shift_(repeated(std::span<const std::int32_t>(zeros.shift()))),
        clamp_(clamp_of(context)) {
    has_later_scale_ = context.has_input(kScale) && context.constant(kScale) == nullptr;
    if (!has_later_scale_) scale_ = repeated<float>(context, kScale);
    if (!zeros.has_later_zero()) offsets_ = offsets(zeros.known_zero());
    const bool is_whole = context.has_input(kBias) && context.element(kBias) == DataType::Int32;
    if (is_whole) whole_bias_ = repeated<std::int32_t>(context, kBias);
    if (!is_whole) bias_ = repeated<float>(context, kBias);
    if (context.has_input(kScaleOfY)) scale_of_y_ = *context.constant(kScaleOfY)->data<float>();
    if (context.has_input(kZeroOfY)) zero_of_y_ = zero_point(context, kZeroOfY);
  }

  /// The output of `run` may be the memory of the sums. `windows`: the sums of X over them, [positions,
  /// groups], or nullptr where weights have no shift.
  void run(std::int32_t* sums, std::int32_t zero, const std::int32_t* windows, const RunContext& run) const {
    Tensor& y = run.output(0);
    std::vector<std::int32_t> of_run;
    if (zeros_.has_later_zero()) of_run = offsets(zero);
    const std::span<const std::int32_t> added(zeros_.has_later_zero() ? of_run : offsets_);
    const float scale = has_later_scale_ ? *run.input(kScale).data<float>() : 1;
    const std::int64_t rows = (y.size() + row_ - 1) / row_;
    parallel_ranges(rows, row_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin * row_; first < std::min(end * row_, y.size()); first += kPiece) {
        const std::int64_t last = std::min({first + kPiece, end * row_, y.size()});
        if (windows != nullptr) add_windows(sums, first, last, windows);
        finish(sums, first, last, {added, scale}, y);
      }
    });
  }

 private:
  static constexpr std::int64_t kLeastRow = 256;
  static constexpr std::int64_t kPiece = 2048;

  // One number stands for all channels. Nothing where there are none.
  template <class T>
  std::vector<T> repeated(std::span<const T> numbers) const {
    if (numbers.empty()) return {};
    std::vector<T> row(row_);
    for (std::int64_t i = 0; i < row_; ++i) row[i] = numbers[numbers.size() == 1 ? 0 : i % channels_];
    return row;
  }

  template <class T>
  std::vector<T> repeated(const PrepareContext& context, std::size_t input) const {
    if (!context.has_input(input)) return {};
    return repeated(std::span<const T>(context.constant(input)->values<T>()));
  }

  std::vector<std::int32_t> offsets(std::int32_t zero) const {
    return repeated(std::span<const std::int32_t>(zeros_.offsets(zero)));
  }

  // Both wrap.
  static std::int32_t sum_of(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  static std::int32_t product_of(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  }

  void add_windows(std::int32_t* sums, std::int64_t first, std::int64_t last,
                   const std::int32_t* windows) const {
    for_each_stretch(first, last, [&](std::int64_t at, std::int64_t place, std::int64_t count) {
      const std::int32_t* shift = shift_.data() + place;
      if (groups_ == channels_) {
        for (std::int64_t i = 0; i < count; ++i)
          sums[at + i] = sum_of(sums[at + i], product_of(shift[i], windows[at + i]));
        return;
      }
      const std::int64_t of_group = channels_ / groups_;
      for (std::int64_t i = 0; i < count;) {
        const std::int64_t end = std::min(count, i + of_group - (at + i) % of_group);
        const std::int32_t window = windows[(at + i) / of_group];
        for (; i < end; ++i) sums[at + i] = sum_of(sums[at + i], product_of(shift[i], window));
      }
    });
  }

  // What a run may know first: an offset for each element of a row, none where all are 0, and the scale of
  // all.
  struct Later {
    std::span<const std::int32_t> offsets;
    float scale = 1;
  };

  void finish(const std::int32_t* sums, std::int64_t first, std::int64_t last, const Later& later,
              Tensor& y) const {
    if (y.type() == DataType::Float) {
      as_floats(sums, first, last, later, [&](const float* numbers, std::int64_t count) {
        std::memcpy(y.data<float>() + first, numbers, count * sizeof(float));
      });
    } else if (y.type() == DataType::Int8) {
      finish_bytes(sums, first, last, later, y.data<std::int8_t>());
    } else {
      finish_bytes(sums, first, last, later, y.data<std::uint8_t>());
    }
  }

  template <class Byte>
  void finish_bytes(const std::int32_t* sums, std::int64_t first, std::int64_t last, const Later& later,
                    Byte* y) const {
    if (!whole_bias_.empty()) {
      return for_each_stretch(first, last, [&](std::int64_t at, std::int64_t place, std::int64_t count) {
        requantize(sums + at, place, count, later.offsets, y + at);
      });
    }
    as_floats(sums, first, last, later, [&](const float* numbers, std::int64_t count) {
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
  void as_floats(const std::int32_t* sums, std::int64_t first, std::int64_t last, const Later& later,
                 const Use& use) const {
    alignas(64) std::array<float, kPiece> piece;
    for_each_stretch(first, last, [&](std::int64_t at, std::int64_t place, std::int64_t count) {
      scale_and_shift(sums + at, count, place, later, piece.data() + (at - first));
    });
    const std::int64_t count = last - first;
    if (clamp_) clamp_->apply(std::span(piece.data(), count));
    use(piece.data(), count);
  }

  // Calls use(place in the stretch, its sum with the offset).
  template <class Use>
  static void for_each_sum(const std::int32_t* sums, std::int64_t count, std::int64_t place,
                           std::span<const std::int32_t> offsets, const Use& use) {
    if (offsets.empty()) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) use(i, sums[i]);
    } else {
      const std::int32_t* offset = offsets.data() + place;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) use(i, sum_of(sums[i], offset[i]));
    }
  }

  template <class Byte>
  void requantize(const std::int32_t* sums, std::int64_t place, std::int64_t count,
                  std::span<const std::int32_t> offsets, Byte* y) const {
    constexpr double kLeast = std::numeric_limits<Byte>::lowest();
    constexpr double kMost = std::numeric_limits<Byte>::max();
    const std::int32_t* bias = whole_bias_.data() + place;
    const float* factor = scale_.data() + place;
    const double zero = zero_of_y_;
    for_each_sum(sums, count, place, offsets, [=](std::int64_t i, std::int32_t sum) {
      const double scaled = (static_cast<double>(sum) + bias[i]) * static_cast<double>(factor[i]);
      const double wide = std::nearbyint(scaled) + zero;
      const double above = wide > kLeast ? wide : kLeast;
      y[i] = static_cast<Byte>(static_cast<std::int32_t>(above < kMost ? above : kMost));
    });
  }

  // In a loop each, or the compiler would round a product and the sum with it once.
  void scale_and_shift(const std::int32_t* sums, std::int64_t count, std::int64_t place, const Later& later,
                       float* numbers) const {
    for_each_sum(sums, count, place, later.offsets,
                 [=](std::int64_t i, std::int32_t sum) { numbers[i] = static_cast<float>(sum); });
    if (has_later_scale_) {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] *= later.scale;
    }
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
  std::int64_t groups_;
  std::int64_t row_;
  ZeroPoints zeros_;
  std::vector<std::int32_t> shift_;
  std::vector<std::int32_t> offsets_;  // of a zero point that is known
  std::vector<float> scale_;
  bool has_later_scale_ = false;
  std::vector<float> bias_;
  std::vector<std::int32_t> whole_bias_;
  std::optional<Clamp> clamp_;
  float scale_of_y_ = 1;
  float zero_of_y_ = 0;
};

// X as the products read it: with a border that stands for zero, where 0 does not.
class BytesOfX {
 public:
  BytesOfX(const ByteProduct& product, const ZeroPoints& zeros) : window_(product.window), dims_(product.x) {
    const auto is_above = [](std::int64_t pad) { return pad > 0; };
    const bool has_border =
        std::ranges::any_of(window_.pads_begin, is_above) || std::ranges::any_of(window_.pads_end, is_above);
    if (!has_border || !zeros.changes_sums()) return;
    padded_.emplace(product.x, window_);
    dims_ = padded_->dims();
    std::ranges::fill(window_.pads_begin, 0);
    std::ranges::fill(window_.pads_end, 0);
  }

  const ConvolutionWindow& window() const { return window_; }
  const Dims& dims() const { return dims_; }
  std::size_t scratch_bytes() const {
    return padded_ ? onednn::aligned(static_cast<std::size_t>(ir::element_count(dims_))) : 0;
  }

  const void* of(const RunContext& run, std::int32_t zero, std::byte* scratch) const {
    if (!padded_) return run.input(kX).raw();
    auto* padded = reinterpret_cast<std::uint8_t*>(scratch);
    padded_->copy(static_cast<const std::uint8_t*>(run.input(kX).raw()), static_cast<std::uint8_t>(zero),
                  padded);
    return padded;
  }

 private:
  ConvolutionWindow window_;
  Dims dims_;
  std::optional<PaddedBytes> padded_;
};

PreparedKernel prepare_product(PrepareContext& context, const ByteProduct& product) {
  const ZeroPoints zeros(context, product);
  const BytesOfX bytes(product, zeros);
  const bool is_signed = context.element(kX) == DataType::Int8;
  const memory::desc x =
      onednn::channels_last(logical_dims(bytes.dims()), is_signed ? Element::s8 : Element::u8);
  const memory::desc y = onednn::channels_last(logical_dims(product.y), Element::s32);
  const ConvolutionWindow& window = bytes.window();
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x,
      onednn::any(product.weights.dims(), Element::s8), y, window.strides, window.dilations,
      window.pads_begin, window.pads_end);
  const dnnl::convolution_forward::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  const Tensor weights =
      onednn::packed(context, *context.constant(kWeights), product.weights, primitive.weights_desc());
  const auto call =
      onednn::make_call(dnnl::convolution_forward(primitive), primitive,
                        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, primitive.weights_desc()}, {DNNL_ARG_DST, y}});

  std::optional<WindowSums> windows;
  if (zeros.has_shift()) windows.emplace(bytes.dims(), product.kernel, window, product.groups);
  const bool is_float = context.output(0).element == DataType::Float;
  const std::size_t at_sums = onednn::aligned(primitive.scratchpad_desc().get_size());
  const std::size_t at_x = at_sums + onednn::aligned(is_float ? 0 : y.get_size());
  const std::size_t at_windows = at_x + bytes.scratch_bytes();
  context.need_scratch(at_windows + (windows ? windows->scratch_bytes() : 0));
  return [=, finish = Finish(context, product, zeros)](const RunContext& run) {
    std::byte* const scratch = run.scratch_memory;
    void* const sums = is_float ? run.output(0).raw() : scratch + at_sums;
    const std::int32_t zero = zeros.zero(run);
    const void* const from = bytes.of(run, zero, scratch + at_x);
    (*call)(std::array<const void*, 4>{from, weights.raw(), sums, scratch});
    const std::int32_t* sums_of_windows = nullptr;
    if (windows) {
      auto* const memory = reinterpret_cast<std::int32_t*>(scratch + at_windows);
      sums_of_windows = is_signed ? windows->run(static_cast<const std::int8_t*>(from), memory)
                                  : windows->run(static_cast<const std::uint8_t*>(from), memory);
    }
    finish.run(static_cast<std::int32_t*>(sums), zero, sums_of_windows, run);
  };
}

}  // namespace

PreparedKernel prepare_byte_convolution(PrepareContext& context) {
  const Dims& weights = context.dims(kWeights);
  const std::int64_t groups = context.get_int("group");
  const std::int64_t depth = ir::element_count(weights) / weights[0];
  return prepare_product(context, {.x = context.dims(kX),
                                   .y = context.output(0).dims,
                                   .kernel = Dims(weights.begin() + 2, weights.end()),
                                   .groups = groups,
                                   .weights = onednn::plain(grouped(weights, groups), Element::s8),
                                   .window = window_of(context),
                                   .depth = depth,
                                   .channel_step = depth,
                                   .depth_step = 1});
}

PreparedKernel prepare_byte_matmul(PrepareContext& context) {
  const std::int64_t depth = context.dims(kX).back();
  const std::int64_t columns = context.output(0).dims.back();
  const std::int64_t rows = context.output(0).element_count() / columns;
  const bool is_transposed = context.get_int("transB") != 0;
  const ProductConvolution of({.m = rows, .n = columns, .k = depth, .transpose_b = is_transposed},
                              Element::s8);
  return prepare_product(context, {.x = {1, 1, rows, depth},
                                   .y = {1, 1, rows, columns},
                                   .kernel = {1, 1},
                                   .weights = of.weights,
                                   .window = of.window,
                                   .depth = depth,
                                   .channel_step = is_transposed ? depth : 1,
                                   .depth_step = is_transposed ? 1 : columns});
}

}  // namespace podium::kernels
