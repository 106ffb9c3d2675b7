// Normalisation over groups of channels of channels-last memory, where the channels of a position are the
// vector: the moments of each channel in stretches of positions, which threads share out; those of a group
// from them; then each element times a factor of its channel, and its activation. Stretches are the same
// whatever the threads are, and so are the results.
#include <algorithm>
#include <cmath>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// Of a result that is still in the nearest cache when its activation comes.
constexpr std::int64_t kNearFloats = 1 << 12;

struct GroupNorm {
  std::int64_t images = 1;
  std::int64_t positions = 1;
  std::int64_t channels = 1;
  std::int64_t groups = 1;
  float epsilon = 0;
  EvenTiles stretches;  // of an image's positions
  std::optional<Clamp> clamp = {};
  std::shared_ptr<const ChainCode> code = {};  // of an activation

  std::int64_t pieces() const { return images * stretches.count(); }
  std::int64_t sums() const { return pieces() * channels; }
  std::int64_t factors() const { return images * channels; }
};

// What a run has in scratch memory: of each piece and channel the mean, and the sum of squares about it; of
// each image and channel its group's mean, and the factor of what is above that.
struct Room {
  float* piece_means;
  float* piece_squares;
  float* means;
  float* factors;
};

// Stretches of positions, one after the other image by image.
template <class Body>
void for_pieces(const GroupNorm& op, const Body& body) {
  const std::int64_t cost = op.stretches.size(0) * op.channels;
  parallel_ranges(op.pieces(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t image = piece / op.stretches.count();
      const std::int64_t stretch = piece % op.stretches.count();
      const std::int64_t first = image * op.positions + op.stretches.first(stretch);
      body(piece, image, first * op.channels, op.stretches.size(stretch));
    }
  });
}

// In two passes over a piece, which a second-level cache has for the second: a large mean costs no digits of
// the variance.
void find_moments(const float* x, std::int64_t positions, std::int64_t channels, float* means,
                  float* squares) {
  const float* end = x + positions * channels;
  std::fill_n(means, channels, 0.0F);
  std::fill_n(squares, channels, 0.0F);
  for (const float* row = x; row < end; row += channels) {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) means[c] += row[c];
  }
  for (std::int64_t c = 0; c < channels; ++c) means[c] /= static_cast<float>(positions);
  for (const float* row = x; row < end; row += channels) {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) squares[c] += (row[c] - means[c]) * (row[c] - means[c]);
  }
}

// The moments of a group from those of its pieces and channels (Chan, Golub and LeVeque 1979): squares about
// the mean of all are those about a piece's own and, once for each position, that of the distance between
// both.
void join_moments(const GroupNorm& op, const Room& room, const float* scale) {
  const std::int64_t in_group = op.channels / op.groups;
  const auto count = static_cast<double>(in_group * op.positions);
  for (std::int64_t group = 0; group < op.images * op.groups; ++group) {
    const std::int64_t channel = group % op.groups * in_group;
    const std::int64_t image = group / op.groups;
    const auto over_pieces = [&](const auto& use) {
      for (std::int64_t i = 0; i < op.stretches.count(); ++i) {
        const std::int64_t at = (image * op.stretches.count() + i) * op.channels + channel;
        for (std::int64_t c = at; c < at + in_group; ++c) use(c, static_cast<double>(op.stretches.size(i)));
      }
    };
    double mean = 0;
    over_pieces([&](std::int64_t at, double positions) { mean += positions * room.piece_means[at]; });
    mean /= count;
    double squares = 0;
    over_pieces([&](std::int64_t at, double positions) {
      const double apart = room.piece_means[at] - mean;
      squares += room.piece_squares[at] + positions * apart * apart;
    });
    const auto inverse = static_cast<float>(1 / std::sqrt(squares / count + op.epsilon));
    const std::int64_t first = image * op.channels + channel;
    std::fill_n(room.means + first, in_group, static_cast<float>(mean));
    for (std::int64_t c = 0; c < in_group; ++c) room.factors[first + c] = inverse * scale[channel + c];
  }
}

void normalize(const GroupNorm& op, const RunContext& run) {
  const float* x = run.input(0).data<float>();
  const float* bias = run.input(2).data<float>();
  float* y = run.output(0).data<float>();
  auto* memory = run.scratch<float>();
  const Room room{memory, memory + op.sums(), memory + 2 * op.sums(), memory + 2 * op.sums() + op.factors()};
  const std::int64_t channels = op.channels;
  for_pieces(op, [&](std::int64_t piece, std::int64_t, std::int64_t at, std::int64_t positions) {
    find_moments(x + at, positions, channels, room.piece_means + piece * channels,
                 room.piece_squares + piece * channels);
  });
  join_moments(op, room, run.input(1).data<float>());
  for_pieces(op, [&](std::int64_t, std::int64_t image, std::int64_t at, std::int64_t positions) {
    const float* means = room.means + image * channels;
    const float* factors = room.factors + image * channels;
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, kNearFloats / channels);
    for (std::int64_t first = 0; first < positions; first += rows_at_once) {
      const std::int64_t begin = at + first * channels;
      const std::int64_t end = at + std::min(first + rows_at_once, positions) * channels;
      for (std::int64_t row = begin; row < end; row += channels) {
#pragma omp simd
        for (std::int64_t c = 0; c < channels; ++c)
          y[row + c] = (x[row + c] - means[c]) * factors[c] + bias[c];
      }
      const std::span made(y + begin, y + end);
      if (op.clamp) op.clamp->apply(made);
      if (op.code != nullptr) apply(*op.code, made);
    }
  });
}

}  // namespace

PreparedKernel prepare_group_norm_last(PrepareContext& context) {
  const Dims& x = context.dims(0);
  constexpr std::int64_t kFloatsOfStretch = 1 << 15;
  GroupNorm op{.images = x[0],
               .positions = count_of(x, 1, x.size() - 1),
               .channels = x.back(),
               .groups = context.get_int("num_groups"),
               .epsilon = context.get_float("epsilon"),
               .stretches = {}};
  op.stretches = {.things = op.positions,
                  .at_once = std::max<std::int64_t>(1, kFloatsOfStretch / op.channels)};
  op.clamp = clamp_of(context);
  const auto activation = activation_of(context);
  op.code = activation_code(activation);
  std::size_t scratch = (2 * op.sums() + 2 * op.factors()) * sizeof(float);
  ActivationPass other;
  if (op.code == nullptr) other = ActivationPass(onednn::plain(x), activation, scratch);
  context.need_scratch(scratch);
  return [op, other](const RunContext& run) {
    normalize(op, run);
    other(run);
  };
}

}  // namespace podium::kernels
