// Gradients of a float convolution's weights by oneDNN.
// The work is cut into pieces for a thread each, as many as the machine has threads, whatever the run may
// use: by channels of Y where the weights are large, so that pieces share nothing, else by images, the sums
// of which are added in the order of the images. X and the gradient of Y are brought into the layout that the
// primitive likes image by image, the weights' gradient is brought back. A shape that oneDNN refuses gives
// nothing, and the caller's own way takes it. Where Winograd's algorithm pays, the direct sum stands by for
// results that are not all finite.
#include <algorithm>
#include <optional>

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/kernels/winograd.h"
#include "executor/kernels/winograd_strips.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

using dnnl::memory;
using CallPointer = std::shared_ptr<const onednn::Call>;

// Operands of a piece.
struct Operands {
  memory::desc x;
  memory::desc flow;
  memory::desc weights;
};

// An operand that comes in parts; a part as ONNX has it and as the primitive likes it.
struct Moved {
  CallPointer call = {};    // none: they are the same
  std::size_t bytes = 0;    // of a part as it is liked
  std::size_t offset = 0;   // of the first part in scratch memory
  std::size_t scratch = 0;  // bytes that the call needs itself
};

struct Pieces {
  std::int64_t by_images = 1;
  std::int64_t by_channels = 1;
  std::int64_t count() const { return by_images * by_channels; }
};

struct WeightsCall {
  ConvShape shape;
  Pieces pieces;
  CallPointer compute = {};
  Moved x = {};        // parts: images
  Moved flow = {};     // parts: images of a piece's channels
  Moved weights = {};  // parts: pieces
  CallPointer add_weights = {};
  std::size_t work_offset = 0;  // scratch memory of the calls, piece by piece
  std::size_t work_bytes = 0;

  std::int64_t images() const { return shape.batch / pieces.by_images; }
  std::int64_t channels() const { return shape.out_channels / pieces.by_channels; }

  const float* image_of_x(const float* from, std::int64_t image, std::byte* scratch) const {
    if (x_is_as_given()) return from + image * shape.in_channels * shape.in_size;
    return reinterpret_cast<const float*>(scratch + x.offset + image * x.bytes);
  }
  bool x_is_as_given() const { return x.call == nullptr; }

  void bring_x(const float* from, std::byte* scratch) const;
  void compute_piece(const float* from, const float* flow_from, std::int64_t piece, std::byte* scratch) const;
  void give(std::int64_t piece, float* to, std::byte* scratch) const;
  void run(const float* from, const float* flow_from, float* to, std::byte* scratch) const;
};

void WeightsCall::bring_x(const float* from, std::byte* scratch) const {
  if (x_is_as_given()) return;
  const std::int64_t image_size = shape.in_channels * shape.in_size;
  const auto first_of = [&](std::int64_t piece) { return shape.batch * piece / pieces.count(); };
  parallel_ranges(pieces.count(), image_size * images(), [&](std::int64_t begin, std::int64_t end) {
    const ThreadLimit alone(1);
    for (std::int64_t piece = begin; piece < end; ++piece) {
      std::byte* const work = scratch + work_offset + piece * work_bytes;
      for (std::int64_t image = first_of(piece); image < first_of(piece + 1); ++image)
        (*x.call)({{from + image * image_size, image_of_x(from, image, scratch), work}});
    }
  });
}

void WeightsCall::compute_piece(const float* from, const float* flow_from, std::int64_t piece,
                                std::byte* scratch) const {
  const std::int64_t first_image = piece / pieces.by_channels * images();
  const std::int64_t first_channel = piece % pieces.by_channels * channels();
  std::byte* const work = scratch + work_offset + piece * work_bytes;
  std::byte* const flow_part = scratch + flow.offset + piece * images() * flow.bytes;
  const float* const flow_begin =
      flow_from + (first_image * shape.out_channels + first_channel) * shape.out_size;
  for (std::int64_t i = 0; flow.call != nullptr && i < images(); ++i) {
    (*flow.call)({{flow_begin + i * shape.out_channels * shape.out_size, flow_part + i * flow.bytes, work}});
  }
  (*compute)({{image_of_x(from, first_image, scratch),
               flow.call != nullptr ? static_cast<const void*>(flow_part) : flow_begin,
               scratch + weights.offset + piece * weights.bytes, work}});
}

// A piece of channels has rows of its own; a piece of images adds to those before it.
void WeightsCall::give(std::int64_t piece, float* to, std::byte* scratch) const {
  const onednn::Call& call = piece / pieces.by_channels > 0 ? *add_weights : *weights.call;
  call({{scratch + weights.offset + piece * weights.bytes,
         to + piece % pieces.by_channels * channels() * shape.depth(),
         scratch + work_offset + piece * work_bytes}});
}

void WeightsCall::run(const float* from, const float* flow_from, float* to, std::byte* scratch) const {
  bring_x(from, scratch);
  const std::int64_t cost = images() * channels() * shape.depth() * shape.out_size;
  parallel_ranges(pieces.count(), cost, [&](std::int64_t begin, std::int64_t end) {
    const ThreadLimit alone(1);  // a primitive for one thread
    for (std::int64_t piece = begin; piece < end; ++piece) {
      compute_piece(from, flow_from, piece, scratch);
      if (pieces.by_images == 1) give(piece, to, scratch);
    }
  });
  if (pieces.by_images == 1) return;
  const ThreadLimit alone(1);
  for (std::int64_t piece = 0; piece < pieces.count(); ++piece) give(piece, to, scratch);
}

// As many pieces as the machine has threads, or fewer of one size; none with few channels.
Pieces cut(const ConvShape& shape) {
  constexpr std::int64_t kLeastChannels = 64;
  const auto fitting = [](std::int64_t whole, std::int64_t most) {
    std::int64_t pieces = std::min<std::int64_t>(most, machine_threads());
    while (whole % pieces != 0) --pieces;
    return pieces;
  };
  if (shape.out_channels >= 2 * kLeastChannels)
    return {.by_channels = fitting(shape.out_channels, shape.out_channels / kLeastChannels)};
  return {.by_images = fitting(shape.batch, shape.batch)};
}

// Channels that the library's layouts have side by side.
std::int64_t block_of_channels() { return onednn::has_instructions(dnnl::cpu_isa::avx512_core) ? 16 : 8; }

// Few channels would leave most of a block empty.
Operands liked(const WeightsCall& plan) {
  constexpr std::int64_t kFirstLayers = 3;  // up to so many channels have kernels of their own
  const ConvShape& shape = plan.shape;
  const Dims x =
      ir::windowed_dims(plan.images(), shape.in_channels, {.kernel = {}, .output = shape.window.input});
  const Dims flow = ir::windowed_dims(plan.images(), plan.channels(), shape.window);
  const Dims weights =
      ir::windowed_dims(plan.channels(), shape.in_channels, {.kernel = {}, .output = shape.window.kernel});
  if (shape.in_channels > kFirstLayers && shape.in_channels < block_of_channels())
    return {onednn::channels_last(x), onednn::channels_last(flow), onednn::any(weights)};
  return {onednn::any(x), onednn::any(flow), onednn::any(weights)};
}

dnnl::convolution_backward_weights::primitive_desc choose(const WeightsCall& plan,
                                                          dnnl::algorithm algorithm) {
  const ir::Window& window = plan.shape.window;
  const Operands operands = liked(plan);
  const Dims dilations = onednn::less_one(window.dilations);
  const Dims end = onednn::end_padding(window);
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, algorithm, operands.x,
                                                operands.weights, operands.flow, window.strides, dilations,
                                                window.pads_begin, end);
  const dnnl::convolution_forward::primitive_desc hint(forward, onednn::cpu());
  const dnnl::convolution_backward_weights::desc description(algorithm, operands.x, operands.weights,
                                                             operands.flow, window.strides, dilations,
                                                             window.pads_begin, end);
  return {description, onednn::attributes(), onednn::cpu(), hint};
}

memory::desc image_of(const memory::desc& images) {
  Dims dims = images.dims();
  dims[0] = 1;
  return images.submemory_desc(dims, Dims(dims.size(), 0));
}

CallPointer make_move(const memory::desc& from, const memory::desc& to, const dnnl::post_ops& post_ops,
                      Moved& moved) {
  const dnnl::reorder::primitive_desc description(onednn::cpu(), from, onednn::cpu(), to,
                                                  onednn::attributes(post_ops));
  moved.scratch = std::max(moved.scratch, description.scratchpad_desc().get_size());
  return onednn::make_call(dnnl::reorder(description), description,
                           {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

// Images of so many channels, of a tensor whose images lie one after the other.
Moved move_images(const memory::desc& images, std::int64_t channels_of_tensor) {
  const Dims dims = images.dims();
  Dims whole = dims;
  whole[1] = channels_of_tensor;
  if (images == onednn::strided(dims, onednn::row_major(whole))) return {};
  Moved moved{.bytes = images.get_size() / dims[0]};
  const memory::desc image = image_of(images);
  moved.call = make_move(onednn::plain(image.dims()), image, {}, moved);
  return moved;
}

std::optional<FloatWeightGradient> make_by(const ConvShape& shape, dnnl::algorithm algorithm) {
  auto plan = std::make_shared<WeightsCall>(WeightsCall{.shape = shape, .pieces = cut(shape)});
  std::size_t bytes = 0;
  const auto make_room = [&](Moved& moved, std::int64_t parts) {
    moved.offset = bytes;
    bytes = onednn::aligned(bytes + parts * moved.bytes);
  };
  try {
    const auto primitive = choose(*plan, algorithm);
    const memory::desc weights = primitive.diff_weights_desc();
    plan->compute = onednn::make_call(dnnl::convolution_backward_weights(primitive), primitive,
                                      {{DNNL_ARG_SRC, primitive.src_desc()},
                                       {DNNL_ARG_DIFF_DST, primitive.diff_dst_desc()},
                                       {DNNL_ARG_DIFF_WEIGHTS, weights}});
    plan->x = move_images(primitive.src_desc(), shape.in_channels);
    plan->flow = move_images(primitive.diff_dst_desc(), shape.out_channels);
    plan->weights.bytes = onednn::aligned(weights.get_size());
    plan->weights.call = make_move(weights, onednn::plain(weights.dims()), {}, plan->weights);
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    plan->add_weights = make_move(weights, onednn::plain(weights.dims()), sum, plan->weights);
    plan->work_bytes = std::max(
        {primitive.scratchpad_desc().get_size(), plan->x.scratch, plan->flow.scratch, plan->weights.scratch});
  } catch (const dnnl::error&) {
    return std::nullopt;  // the caller has a way that takes every shape
  }
  make_room(plan->x, shape.batch);
  make_room(plan->flow, plan->pieces.count() * plan->images());
  make_room(plan->weights, plan->pieces.count());
  plan->work_offset = bytes;
  plan->work_bytes = onednn::aligned(plan->work_bytes);
  bytes += plan->pieces.count() * plan->work_bytes;
  return FloatWeightGradient{bytes, [plan](const float* x, const float* flow, float* weights,
                                           std::byte* scratch) { plan->run(x, flow, weights, scratch); }};
}

// What one piece computes, as a convolution.
ConvShape piece_of(const ConvShape& shape) {
  const WeightsCall plan{.shape = shape, .pieces = cut(shape)};
  ConvShape piece = shape;
  piece.batch = plan.images();
  piece.out_channels = plan.channels();
  return piece;
}

std::optional<FloatWeightGradient> make_winograd(const ConvShape& shape) {
  if (!ir::pays_by_winograd(piece_of(shape))) return std::nullopt;
  auto fast = make_winograd_weight_gradient(shape);
  if (!fast) fast = make_by(shape, dnnl::algorithm::convolution_winograd);
  const auto direct = make_by(shape, dnnl::algorithm::convolution_direct);
  if (!fast || !direct || fast->scratch_bytes > kMostWinogradScratch) return std::nullopt;
  const auto results = static_cast<std::size_t>(shape.out_channels * shape.depth());
  return FloatWeightGradient{std::max(fast->scratch_bytes, direct->scratch_bytes),
                             [=, fast = fast->run, direct = direct->run](const float* x, const float* flow,
                                                                         float* weights, std::byte* scratch) {
                               fast(x, flow, weights, scratch);
                               if (!are_finite({weights, results})) direct(x, flow, weights, scratch);
                             }};
}

}  // namespace

std::optional<FloatWeightGradient> make_library_weight_gradient(const ConvShape& shape) {
  const std::int64_t numbers = shape.batch * shape.in_channels * shape.out_channels * shape.kernel_size *
                               shape.in_size * shape.out_size;
  if (numbers == 0 || shape.group != 1 || shape.window.rank() < 1 || shape.window.rank() > 3)
    return std::nullopt;
  const ThreadLimit alone(1);
  if (auto winograd = make_winograd(shape)) return winograd;
  return make_by(shape, dnnl::algorithm::convolution_direct);
}

}  // namespace podium::kernels
