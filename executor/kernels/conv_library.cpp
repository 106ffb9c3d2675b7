// Float convolutions by oneDNN.
// A primitive is chosen once per shape. oneDNN may like other layouts than ONNX has (blocks of 16 channels):
// an operand has both descriptions and, where they differ, a reorder into scratch memory before or after the
// run. X and Y are offered for reordering only where the work pays for it; constant weights are reordered
// when the kernel is prepared. A shape that oneDNN refuses gives nothing, and the caller's own way takes it.
// Where Winograd's algorithm pays for weights that change, the direct sum stands by for results that are not
// all finite. Without AVX-512 oneDNN unfolds windows for its product of matrices, which adds up in another
// order on other threads: images of windows of one element are multiplied as they lie instead, others by one
// thread.
#include <algorithm>
#include <memory>
#include <string_view>

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/kernels/winograd.h"
#include "executor/kernels/winograd_strips.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

using dnnl::memory;

using onednn::cpu;

// A tensor as ONNX has it and as the primitive likes it.
struct ConvOperand {
  memory::desc given = {};
  memory::desc liked = {};
  std::optional<dnnl::reorder> reorder = {};  // from one to the other, when they differ
  std::size_t offset = 0;                     // where the liked tensor lies in scratch memory

  memory as_given(const float* data) const { return {given, cpu(), const_cast<float*>(data)}; }
  memory as_liked(const float* data, std::byte* scratch) const {
    return reorder ? memory(liked, cpu(), scratch + offset) : as_given(data);
  }
  memory brought(dnnl::stream& stream, const float* data, std::byte* scratch) const {
    memory from = as_given(data);
    memory to = as_liked(data, scratch);
    if (reorder) reorder->execute(stream, from, to);
    return to;
  }
};

struct Library {
  dnnl::primitive primitive;
  ConvOperand x;
  ConvOperand y;
  ConvOperand weights;
  memory::desc bias;
  memory::desc scratch;
  std::size_t operand_bytes = 0;  // scratch memory before the primitive's own
  Tensor packed;                  // constant weights as the primitive likes them
  bool is_by_products = false;    // which add up in another order on other threads

  void run(const float* from, const float* w, const float* b, float* to, std::byte* memory_of_run) const {
    const ThreadLimit limit(is_by_products ? 1 : 0);
    dnnl::stream stream(cpu());
    const bool is_packed = packed.defined();
    memory result = y.as_liked(to, memory_of_run);
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, x.brought(stream, from, memory_of_run)},
        {DNNL_ARG_WEIGHTS, is_packed ? memory(weights.liked, cpu(), const_cast<void*>(packed.raw()))
                                     : weights.brought(stream, w, memory_of_run)},
        {DNNL_ARG_DST, result},
        {DNNL_ARG_SCRATCHPAD, memory(scratch, cpu(), memory_of_run + operand_bytes)}};
    if (b != nullptr) arguments.emplace(DNNL_ARG_BIAS, memory(bias, cpu(), const_cast<float*>(b)));
    primitive.execute(stream, arguments);
    memory target = y.as_given(to);
    if (y.reorder) y.reorder->execute(stream, result, target);
    stream.wait();
  }
};

// oneDNN's weights are [group, out, in, kernel...]; ONNX's transposed ones lie as [group, in, out,
// kernel...].
void describe_weights(const ConvShape& shape, ConvOperand& weights) {
  memory::dims dims{shape.group, shape.out_channels, shape.in_channels};
  dims.insert(dims.end(), shape.window.kernel.begin(), shape.window.kernel.end());
  memory::dims strides = onednn::row_major(dims);
  if (shape.transposed) {
    strides[1] = shape.kernel_size;
    strides[2] = shape.out_channels * shape.kernel_size;
  }
  if (shape.group == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  weights = {.given = onednn::strided(dims, strides), .liked = onednn::any(dims)};
}

enum class Liking { AsGiven, ChannelsLast, AsThePrimitive };

// How X and Y are offered. They are worth moving where windows overlap and there is work enough for more
// calls of all threads. Few channels leave most of a block empty: a transposed convolution that gives less
// than half a block is faster as it is given (measured: 3 of 32 channels 2 to 4 times), others are slower
// still so (4 to 20 times). They are offered alike whether the weights are known or change: a strategy that
// brings weights from elsewhere gives the bits of one processor.
Liking liking_of(const ConvShape& shape) {
  constexpr std::int64_t kBlock = 16;
  constexpr double kLeastMultiplyAdds = 1 << 20;
  const std::int64_t given = shape.group * shape.out_channels;
  const std::int64_t least_given = shape.transposed ? kBlock / 2 : 2;
  const std::int64_t places = shape.transposed ? shape.in_size : shape.out_size;
  const double multiply_adds = static_cast<double>(shape.batch * shape.group * places) *
                               static_cast<double>(shape.depth() * shape.out_channels);
  if (shape.kernel_size == 1 || multiply_adds < kLeastMultiplyAdds || given < least_given)
    return Liking::AsGiven;
  const bool has_few = std::min(given, shape.group * shape.in_channels) < kBlock;
  return shape.transposed && has_few ? Liking::ChannelsLast : Liking::AsThePrimitive;
}

memory::desc offered(const ConvOperand& operand, Liking liking) {
  const memory::dims dims = operand.given.dims();
  if (liking == Liking::AsGiven) return operand.given;
  return liking == Liking::ChannelsLast ? onednn::channels_last(dims) : onednn::any(dims);
}

void describe(const ConvShape& shape, bool has_bias, Library& library) {
  const Liking liking = liking_of(shape);
  const memory::dims x = ir::windowed_dims(shape.batch, shape.group * shape.in_channels,
                                           {.kernel = {}, .output = shape.window.input});
  const memory::dims y = ir::windowed_dims(shape.batch, shape.group * shape.out_channels, shape.window);
  library.x.given = onednn::plain(x);
  library.y.given = onednn::plain(y);
  library.x.liked = offered(library.x, liking);
  library.y.liked = offered(library.y, liking);
  if (has_bias) library.bias = onednn::plain({y[1]});
  describe_weights(shape, library.weights);
}

// The window of a transposed convolution is that of the convolution from Y to X.
ir::Window of_convolution(const ConvShape& shape) {
  ir::Window window = shape.window;
  if (shape.transposed) std::swap(window.input, window.output);
  return window;
}

enum class Way { Direct, Winograd };

dnnl::algorithm algorithm_of(Way way, const ConvShape& shape) {
  if (way == Way::Direct)
    return shape.transposed ? dnnl::algorithm::deconvolution_direct : dnnl::algorithm::convolution_direct;
  return shape.transposed ? dnnl::algorithm::deconvolution_winograd : dnnl::algorithm::convolution_winograd;
}

// Asked for training, oneDNN transforms the weights in every run.
template <class Primitive>
void choose(const ConvShape& shape, Way way, Library& library) {
  const auto kind =
      way == Way::Direct ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
  const auto algorithm = algorithm_of(way, shape);
  const memory::dims dilations = onednn::less_one(shape.window.dilations);
  const memory::dims end = onednn::end_padding(of_convolution(shape));
  const memory::dims& begin = shape.window.pads_begin;
  const memory::desc x = library.x.liked;
  const memory::desc y = library.y.liked;
  const memory::desc w = library.weights.liked;
  using Description = typename Primitive::desc;
  const Description description =
      library.bias.is_zero()
          ? Description(kind, algorithm, x, w, y, shape.window.strides, dilations, begin, end)
          : Description(kind, algorithm, x, w, library.bias, y, shape.window.strides, dilations, begin, end);
  const typename Primitive::primitive_desc chosen(description, onednn::attributes(), cpu());
  library.primitive = Primitive(chosen);
  library.is_by_products = std::string_view(chosen.impl_info_str()).find("gemm") != std::string_view::npos;
  library.x.liked = chosen.src_desc();
  library.y.liked = chosen.dst_desc();
  library.weights.liked = chosen.weights_desc();
  library.scratch = chosen.scratchpad_desc();
}

// Room in scratch memory for an operand that is not liked as it is given.
void make_room(ConvOperand& operand, const memory::desc& from, const memory::desc& to, std::size_t& bytes) {
  if (from == to) return;
  operand.reorder.emplace(dnnl::reorder::primitive_desc(cpu(), from, cpu(), to));
  operand.offset = bytes;
  bytes += onednn::aligned(operand.liked.get_size());
}

void plan_operands(const Tensor* known_weights, Library& library) {
  std::size_t bytes = 0;
  make_room(library.x, library.x.given, library.x.liked, bytes);
  make_room(library.y, library.y.liked, library.y.given, bytes);
  const std::size_t before_weights = bytes;
  make_room(library.weights, library.weights.given, library.weights.liked, bytes);
  if (known_weights != nullptr && library.weights.reorder) {
    library.packed = Tensor(DataType::Uint8, {static_cast<std::int64_t>(bytes - before_weights)});
    library.weights.offset = 0;
    bytes = before_weights;
    dnnl::stream stream(cpu());
    library.weights.brought(stream, known_weights->data<float>(),
                            static_cast<std::byte*>(library.packed.raw()));
    stream.wait();
  }
  library.operand_bytes = bytes;
}

// A window of one element that skips nothing: the images of Y are products of the weights by those of X.
struct ImageProducts {
  ConvShape shape;

  void operator()(const float* x, const float* weights, const float* bias, float* y,
                  std::byte* /*scratch*/) const {
    const Product product{.m = shape.out_channels,
                          .n = shape.out_size,
                          .k = shape.in_channels,
                          .transpose_a = shape.transposed};
    if (bias != nullptr) fill_with_bias(shape, bias, y);
    for (std::int64_t image = 0; image < shape.batch; ++image) {
      multiply(product, weights, x + image * shape.in_channels * shape.in_size,
               y + image * shape.out_channels * shape.out_size, 1, bias == nullptr ? 0.0F : 1.0F);
    }
  }
};

std::optional<FloatConv> make_way(const ConvShape& shape, bool has_bias, const Tensor* weights, Way way) {
  auto library = std::make_shared<Library>();
  try {
    describe(shape, has_bias, *library);
    if (shape.transposed) {
      choose<dnnl::deconvolution_forward>(shape, way, *library);
    } else {
      choose<dnnl::convolution_forward>(shape, way, *library);
    }
    plan_operands(weights, *library);
  } catch (const dnnl::error&) {
    return std::nullopt;  // the caller has a way that takes every shape
  }
  if (library->is_by_products && ir::has_one_element(shape) && shape.in_size == shape.out_size)
    return FloatConv{0, ImageProducts{shape}};
  const std::size_t bytes = library->operand_bytes + onednn::aligned(library->scratch.get_size());
  return FloatConv{bytes, [library](const float* x, const float* w, const float* bias, float* y,
                                    std::byte* scratch) { library->run(x, w, bias, y, scratch); }};
}

// Of weights that change. Those of quantised networks, whose sums are exact, are known.
std::optional<FloatConv> make_winograd(const ConvShape& shape, bool has_bias) {
  if (!ir::pays_by_winograd(shape)) return std::nullopt;
  if (auto strips = make_winograd_strips(shape)) return strips;
  const auto fast = make_way(shape, has_bias, nullptr, Way::Winograd);
  const auto direct = make_way(shape, has_bias, nullptr, Way::Direct);
  if (!fast || !direct || fast->scratch_bytes > kMostWinogradScratch) return std::nullopt;
  const auto results =
      static_cast<std::size_t>(shape.batch * shape.group * shape.out_channels * shape.out_size);
  return FloatConv{std::max(fast->scratch_bytes, direct->scratch_bytes),
                   [=, fast = fast->run, direct = direct->run](
                       const float* x, const float* w, const float* bias, float* y, std::byte* scratch) {
                     fast(x, w, bias, y, scratch);
                     if (!are_finite({y, results})) direct(x, w, bias, y, scratch);
                   }};
}

}  // namespace

std::optional<FloatConv> make_library_conv(const ConvShape& shape, bool has_bias, const Tensor* weights) {
  const std::int64_t numbers = shape.batch * shape.group * shape.in_channels * shape.out_channels *
                               shape.kernel_size * shape.in_size * shape.out_size;
  if (numbers == 0 || shape.window.rank() < 1 || shape.window.rank() > 3) return std::nullopt;
  if (weights == nullptr) {
    if (auto winograd = make_winograd(shape, has_bias)) return winograd;
  }
  return make_way(shape, has_bias, weights, Way::Direct);
}

}  // namespace podium::kernels
