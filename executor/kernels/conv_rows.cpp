// Convolutions with vectors along the rows of images.
// A vector holds eight results of one row and channel, a register one or two such. A tile keeps up to twenty
// registers, those of some channels at some places, and adds to each, channel of X by channel of X and tap by
// tap, a weight times as many numbers of X, eight of which lie beside each other. So lanes are lost only at
// the end of a row, and there not by masks: the last vector of a row begins so far before its end that it is
// full, and computes some results twice, each the same way. The gradient of the weights keeps a register of
// sums for each of some channels and of some taps in one row of the window, which vectors of each row add to;
// lanes that an earlier vector has counted are zeroed. X is copied where it has padding, so that no place
// asks where it is. Of a transposed convolution whose strides are 1 the window is mirrored; it is a
// convolution then. A group is an image of its own with weights of its own.
#include "executor/kernels/conv_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "executor/kernels/row_vectors.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/winograd.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

using ir::kRowLanes;

constexpr int kMostChannelsAtOnce = 5;
constexpr int kMostTapsAtOnce = 5;

// Of a transposed convolution that of the mirrored window.
RowAxis axis_of(const ConvShape& shape, std::size_t from_last) {
  RowAxis axis = row_axis(shape.window, from_last);
  if (shape.transposed) axis.pad = (axis.kernel - 1) * axis.dilation - axis.pad;
  return axis;
}

// What X looks like to a kernel: rows and columns that windows see, padding among them.
struct RowInput {
  RowAxis height;
  RowAxis width;
  std::int64_t channels = 1;  // of a group; so are those of Y
  std::int64_t images = 1;
  std::int64_t groups = 1;

  bool has_padding() const { return height.has_padding() || width.has_padding(); }
  std::int64_t row() const { return has_padding() ? width.seen() : width.input; }
  std::int64_t channel() const { return row() * (has_padding() ? height.seen() : height.input); }
  std::size_t copied_bytes() const {
    return has_padding() ? onednn::aligned(images * groups * channels * channel() * sizeof(float)) : 0;
  }

  void copy_channel(const float* from, float* to) const;
  const float* brought(const float* from, std::byte* scratch) const;
};

void RowInput::copy_channel(const float* from, float* to) const {
  const std::int64_t copied = std::min(width.input, row() - width.pad);
  for (std::int64_t y = 0; y < height.seen(); ++y, to += row()) {
    const std::int64_t line = y - height.pad;
    if (line < 0 || line >= height.input) {
      std::fill_n(to, row(), 0.0F);
      continue;
    }
    std::fill_n(to, width.pad, 0.0F);
    std::copy_n(from + line * width.input, copied, to + width.pad);
    std::fill(to + width.pad + copied, to + row(), 0.0F);
  }
}

// X with its padding; scratch memory begins with room for it.
const float* RowInput::brought(const float* from, std::byte* scratch) const {
  if (!has_padding()) return from;
  auto* const to = reinterpret_cast<float*>(scratch);
  parallel_ranges(images * groups * channels, channel(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c)
      copy_channel(from + c * height.input * width.input, to + c * channel());
  });
  return to;
}

RowInput input_of(const ConvShape& shape) {
  return {.height = axis_of(shape, 1),
          .width = axis_of(shape, 0),
          .channels = shape.in_channels,
          .images = shape.batch,
          .groups = shape.group};
}

struct RowTap {
  std::int64_t from = 0;    // in the image of X
  std::int64_t weight = 0;  // in the weights of channel 0 of Y
};

struct RowConv {
  RowInput x;
  std::int64_t out_channels = 1;
  std::int64_t out_size = 1;
  std::int64_t weights_of_channel = 1;  // how far weights of the next channel of Y are
  std::int64_t weights_of_group = 1;    // and those of the next group
  std::vector<RowPlace> places = {};
  std::vector<RowTap> taps = {};
  std::size_t packed_offset = 0;

  EvenTiles tiles() const { return {out_channels, kMostChannelsAtOnce}; }
  /// Of places: more than one where threads would find too little to share out else.
  EvenTiles parts_of_image() const;

  void pack(const float* weights, float* packed) const;
  void run(const float* from, const float* weights, const float* bias, float* y, std::byte* scratch) const;
};

// Group by group, tile by tile, tap by tap, the weights of the tile's channels.
void RowConv::pack(const float* weights, float* packed) const {
  for (std::int64_t group = 0; group < x.groups; ++group, weights += weights_of_group) {
    for (std::int64_t tile = 0; tile < tiles().count(); ++tile) {
      for (const RowTap& tap : taps) {
        for (std::int64_t c = tiles().first(tile); c < tiles().first(tile + 1); ++c)
          *packed++ = weights[c * weights_of_channel + tap.weight];
      }
    }
  }
}

// Places of a tile of channels, and where these are.
struct TileData {
  const float* image;  // of X
  const float* weights;
  const float* bias;  // of the first channel, nullptr: none
  float* y;           // of the first channel
  std::int64_t first_place = 0;
  std::int64_t last_place = 0;  // one behind
};

template <int kChannels, int kRegisters>
void convolve_places(const RowConv& conv, const TileData& data, const RowPlace* places) {
  constexpr int kPlaces = kRegisters * kPlacesOfRegister;
  RowRegister sums[kChannels][kRegisters];
  const float* from[kPlaces];
#pragma GCC unroll 16
  for (int p = 0; p < kPlaces; ++p) from[p] = data.image + places[p].from;
#pragma GCC unroll 8
  for (int c = 0; c < kChannels; ++c) {
    const RowRegister bias = RowRegister{} + (data.bias == nullptr ? 0.0F : data.bias[c]);
#pragma GCC unroll 8
    for (int r = 0; r < kRegisters; ++r) sums[c][r] = bias;
  }
  const float* weights = data.weights;
  for (const RowTap& tap : conv.taps) {
    RowRegister x[kRegisters];
#pragma GCC unroll 8
    for (int r = 0; r < kRegisters; ++r) x[r] = load_places(from + r * kPlacesOfRegister, tap.from);
#pragma GCC unroll 8
    for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 8
      for (int r = 0; r < kRegisters; ++r) sums[c][r] += weights[c] * x[r];
    }
    weights += kChannels;
  }
#pragma GCC unroll 8
  for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) {
      const RowVector result = vector_of(sums[c][p / kPlacesOfRegister], p % kPlacesOfRegister);
      std::memcpy(data.y + c * conv.out_size + places[p].to, &result, sizeof result);
    }
  }
}

// Behind the last place it is done again.
template <int kChannels, int kRegisters>
void convolve_from(const RowConv& conv, const TileData& data, std::int64_t first) {
  constexpr int kPlaces = kRegisters * kPlacesOfRegister;
  const std::int64_t last = data.last_place - 1;
  if (first + kPlaces - 1 <= last)
    return convolve_places<kChannels, kRegisters>(conv, data, &conv.places[first]);
  std::array<RowPlace, kPlaces> places;
  for (int p = 0; p < kPlaces; ++p) places[p] = conv.places[std::min(first + p, last)];
  convolve_places<kChannels, kRegisters>(conv, data, places.data());
}

template <int kChannels>
void convolve_channels(const RowConv& conv, const TileData& data) {
  constexpr int kRegisters = std::min(kRowAccumulators / kChannels, 8);
  constexpr std::int64_t kPlaces = kRegisters * kPlacesOfRegister;
  const std::int64_t count = data.last_place;
  std::int64_t done = data.first_place;
  for (; done + kPlaces <= count; done += kPlaces) convolve_from<kChannels, kRegisters>(conv, data, done);
  const std::int64_t left = count - done;
  if (left > kPlaces / 2) return convolve_from<kChannels, kRegisters>(conv, data, done);
  for (; done < count; done += kPlacesOfRegister) convolve_from<kChannels, 1>(conv, data, done);
}

EvenTiles RowConv::parts_of_image() const {
  constexpr std::int64_t kEnough = 16;
  constexpr std::int64_t kFewPlaces = 64;
  const std::int64_t pieces = x.images * x.groups * tiles().count();
  const std::int64_t parts = std::max<std::int64_t>(1, kEnough / std::max<std::int64_t>(pieces, 1));
  const std::int64_t count = std::ssize(places);
  return {count, std::max(kFewPlaces, (count + parts - 1) / parts)};
}

void RowConv::run(const float* from, const float* weights, const float* bias, float* y,
                  std::byte* scratch) const {
  if (places.empty()) return;
  auto* const packed = reinterpret_cast<float*>(scratch + packed_offset);
  pack(weights, packed);
  const float* const brought = x.brought(from, scratch);
  const std::int64_t depth = std::ssize(taps);
  const EvenTiles of_y = tiles();
  const EvenTiles parts = parts_of_image();
  const std::int64_t cost = out_channels * out_size * depth / of_y.count() / parts.count();
  const std::int64_t pieces = x.images * x.groups * of_y.count() * parts.count();
  parallel_ranges(pieces, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t part = piece % parts.count();
      const std::int64_t image = piece / parts.count() / of_y.count();  // of a group
      const std::int64_t tile = piece / parts.count() % of_y.count();
      const std::int64_t first = of_y.first(tile);
      const std::int64_t channel = image % x.groups * out_channels + first;
      const TileData data{.image = brought + image * x.channels * x.channel(),
                          .weights = packed + channel * depth,
                          .bias = bias == nullptr ? nullptr : bias + channel,
                          .y = y + (image * out_channels + first) * out_size,
                          .first_place = parts.first(part),
                          .last_place = parts.first(part + 1)};
      with_constant<kMostChannelsAtOnce>(of_y.size(tile),
                                         [&](auto channels) { convolve_channels<channels>(*this, data); });
    }
  });
}

RowConv plan_rows(const ConvShape& shape) {
  RowConv conv{.x = input_of(shape), .out_channels = shape.out_channels, .out_size = shape.out_size};
  const RowAxis& height = conv.x.height;
  const RowAxis& width = conv.x.width;
  conv.weights_of_channel = shape.transposed ? shape.kernel_size : shape.depth();
  conv.weights_of_group = shape.out_channels * shape.depth();
  const std::int64_t weights_of_input =
      shape.transposed ? shape.out_channels * shape.kernel_size : shape.kernel_size;
  for (std::int64_t row = 0; row < height.output; ++row) {
    for (std::int64_t column = 0; column < width.output; column += kRowLanes) {
      const std::int64_t begin = std::min(column, width.output - kRowLanes);
      conv.places.push_back(
          {.to = row * width.output + begin, .from = row * height.stride * conv.x.row() + begin});
    }
  }
  for (std::int64_t c = 0; c < shape.in_channels; ++c) {
    for (std::int64_t tap = 0; tap < shape.kernel_size; ++tap) {
      const std::int64_t from =
          tap / width.kernel * height.dilation * conv.x.row() + tap % width.kernel * width.dilation;
      const std::int64_t weight = shape.transposed ? shape.kernel_size - 1 - tap : tap;
      conv.taps.push_back({.from = c * conv.x.channel() + from, .weight = c * weights_of_input + weight});
    }
  }
  return conv;
}

// Places that are seen at once.
struct GradientStep {
  std::array<RowPlace, kPlacesOfRegister> places = {};  ///< in the gradient of Y, and in X
  std::size_t mask = 0;
};

// Those of an image, and the masks that they have: 0 is of all lanes, others leave out those that an earlier
// place has counted, or that stand for none.
struct GradientSteps {
  explicit GradientSteps(const RowInput& x);

  std::vector<GradientStep> steps = {};
  std::vector<RegisterMask> masks = {~RegisterMask{}};

 private:
  std::size_t number_of(RegisterMask mask);
};

GradientSteps::GradientSteps(const RowInput& x) {
  const std::int64_t width = x.width.output;
  const std::int64_t in_row = (width + kRowLanes - 1) / kRowLanes;
  const std::int64_t count = x.height.output * in_row;
  for (std::int64_t first = 0; first < count; first += kPlacesOfRegister) {
    GradientStep step;
    RegisterMask counted{};
    for (std::int64_t part = 0; part < kPlacesOfRegister && first + part < count; ++part) {
      const std::int64_t row = (first + part) / in_row;
      const std::int64_t column = (first + part) % in_row * kRowLanes;
      const std::int64_t begin = std::min(column, width - kRowLanes);
      step.places[part] = {.to = row * width + begin, .from = row * x.height.stride * x.row() + begin};
      for (std::int64_t lane = column - begin; lane < kRowLanes; ++lane)
        counted[part * kRowLanes + lane] = -1;
    }
    step.mask = number_of(counted);
    steps.push_back(step);
  }
}

std::size_t GradientSteps::number_of(RegisterMask mask) {
  const auto is_same = [&](const RegisterMask& one) { return std::memcmp(&one, &mask, sizeof mask) == 0; };
  const auto found = std::ranges::find_if(masks, is_same);
  if (found == masks.end()) {
    masks.push_back(mask);
    return masks.size() - 1;
  }
  return static_cast<std::size_t>(found - masks.begin());
}

// Sums for some channels of Y and some taps of one row of the window.
struct RowGradient {
  RowInput x;
  std::int64_t out_channels = 1;
  GradientSteps of_image = GradientSteps(x);

  std::int64_t out_size() const { return x.height.output * x.width.output; }
  EvenTiles tiles() const {
    const std::int64_t taps = std::min<std::int64_t>(x.width.kernel, kMostTapsAtOnce);
    return {out_channels, std::min<std::int64_t>(kRowAccumulators / taps, kMostChannelsAtOnce)};
  }
  void run(const float* from, const float* flow, float* weights, std::byte* scratch) const;
};

struct GradientData {
  const float* x;     // of image 0: the channel of the group, at the first tap
  const float* flow;  // of image 0: the first channel
  float* weights;     // of the first channel, at the first tap
};

template <int kChannels, int kTaps>
void sum_taps(const RowGradient& op, const GradientData& data) {
  const std::int64_t channel = op.out_size();
  const std::int64_t dilation = op.x.width.dilation;
  RowRegister sums[kChannels][kTaps] = {};
  for (std::int64_t image = 0; image < op.x.images; ++image) {
    const float* x = data.x + image * op.x.groups * op.x.channels * op.x.channel();
    const float* flow = data.flow + image * op.x.groups * op.out_channels * channel;
    for (const GradientStep& step : op.of_image.steps) {
      const float* seen_at[kPlacesOfRegister];
      const float* flows_at[kPlacesOfRegister];
      for (int p = 0; p < kPlacesOfRegister; ++p) {
        seen_at[p] = x + step.places[p].from;
        flows_at[p] = flow + step.places[p].to;
      }
      RowRegister seen[kTaps];
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) seen[t] = load_places(seen_at, t * dilation);
#pragma GCC unroll 8
      for (int c = 0; c < kChannels; ++c) {
        RowRegister flowing = load_places(flows_at, c * channel);
        if (step.mask != 0) flowing = only(op.of_image.masks[step.mask], flowing);
#pragma GCC unroll 8
        for (int t = 0; t < kTaps; ++t) sums[c][t] += flowing * seen[t];
      }
    }
  }
  const std::int64_t depth = op.x.channels * op.x.height.kernel * op.x.width.kernel;
#pragma GCC unroll 8
  for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t) data.weights[c * depth + t] = sum_of_lanes(sums[c][t]);
  }
}

void RowGradient::run(const float* from, const float* flow, float* weights, std::byte* scratch) const {
  const float* const brought = x.brought(from, scratch);
  const std::int64_t rows = x.channels * x.height.kernel;  // of the window, over all channels of a group
  const std::int64_t taps = x.width.kernel;
  const EvenTiles of_y = tiles();
  const std::int64_t cost = x.images * out_size() * taps * of_y.at_once;
  parallel_ranges(x.groups * of_y.count() * rows, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t row = piece % rows;
      const std::int64_t tile = piece / rows % of_y.count();
      const std::int64_t group = piece / rows / of_y.count();
      const std::int64_t first = group * out_channels + of_y.first(tile);
      const float* const seen = brought + (group * x.channels + row / x.height.kernel) * x.channel() +
                                row % x.height.kernel * x.height.dilation * x.row();
      for (std::int64_t tap = 0; tap < taps; tap += kMostTapsAtOnce) {
        const GradientData data{.x = seen + tap * x.width.dilation,
                                .flow = flow + first * out_size(),
                                .weights = weights + (first * rows + row) * taps + tap};
        with_constant<kMostTapsAtOnce>(std::min<std::int64_t>(taps - tap, kMostTapsAtOnce), [&](auto some) {
          with_constant<kMostChannelsAtOnce>(of_y.size(tile),
                                             [&](auto channels) { sum_taps<channels, some>(*this, data); });
        });
      }
    }
  });
}

}  // namespace

FloatConv make_row_conv(const ConvShape& shape) {
  auto conv = std::make_shared<RowConv>(plan_rows(shape));
  conv->packed_offset = conv->x.copied_bytes();
  const std::size_t packed_bytes = shape.group * shape.out_channels * shape.depth() * sizeof(float);
  return {conv->packed_offset + onednn::aligned(packed_bytes),
          [conv](const float* x, const float* w, const float* bias, float* y, std::byte* scratch) {
            conv->run(x, w, bias, y, scratch);
          }};
}

FloatWeightGradient make_row_weight_gradient(const ConvShape& shape, FloatWeightGradient otherwise) {
  const RowGradient op{.x = input_of(shape), .out_channels = shape.out_channels};
  const auto results = static_cast<std::size_t>(shape.group * shape.out_channels * shape.depth());
  return {op.x.copied_bytes(), [=, otherwise = std::move(otherwise)](const float* x, const float* flow,
                                                                     float* weights, std::byte* scratch) {
            op.run(x, flow, weights, scratch);
            if (are_finite({weights, results})) return;
            // Most runs never come here: the memory is not kept for those.
            ir::Tensor room(ir::DataType::Uint8, {static_cast<std::int64_t>(otherwise.scratch_bytes)});
            otherwise.run(x, flow, weights, static_cast<std::byte*>(room.raw()));
          }};
}

}  // namespace podium::kernels
