// The gradient of a convolution's weights by Winograd's algorithm: that of the transformed windows is, for
// each of 36 elements, the product of what tiles see of x, transformed, by the transformed gradients of their
// results, summed over tiles; it is transformed back once, at the end. A block of tiles at a time lies in
// strips of channels, [strip, tile, channel of the strip]: those of x are a product's weights, those of the
// gradient its turned rows. An element is one thread's, and blocks are the same on any number of threads.
#include <algorithm>
#include <cstring>

#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/winograd_strips.h"

namespace podium::kernels {
namespace {

using namespace winograd;

constexpr std::int64_t kSummedTiles = kStrip > 16 ? 128 : 256;  // a strip of so many fits a first-level cache

struct WindowGradient {
  Shape shape;
  EvenTiles blocks;
  std::shared_ptr<const onednn::Call> bring_x = {};
  std::shared_ptr<const onednn::Call> bring_flow = {};
  std::size_t flow_at = 0;  // in scratch memory, behind x
  std::size_t seen_at = 0;
  std::size_t flows_at = 0;
  std::size_t products_at = 0;
  std::size_t bytes = 0;

  explicit WindowGradient(const Shape& of)
      : shape(of),
        blocks{.things = of.tiles(), .at_once = kSummedTiles},
        bring_x(bring(of.x)),
        bring_flow(bring(of.y)) {
    const auto room = [&](std::size_t& at, std::int64_t floats) {
      at = bytes;
      bytes += onednn::aligned(floats * sizeof(float));
    };
    std::size_t x_at = 0;
    room(x_at, of.images * of.x.floats());
    room(flow_at, of.images * of.y.floats());
    room(seen_at, kElements * floats_of_element(kSummedTiles, of.x));
    room(flows_at, kElements * floats_of_element(kSummedTiles, of.y));
    room(products_at, kElements * of.x.channels * of.y.channels);
  }

  void run(const float* x, const float* flow, float* weights, std::byte* scratch) const {
    (*bring_x)(std::array<const void*, 2>{x, scratch});
    (*bring_flow)(std::array<const void*, 2>{flow, scratch + flow_at});
    for (std::int64_t block = 0; block < blocks.count(); ++block) {
      transform(block, scratch);
      parallel_ranges(kElements, blocks.size(block) * shape.x.channels * shape.y.channels,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t element = begin; element < end; ++element)
                          add_products(block, element, scratch);
                      });
    }
    parallel_ranges(shape.y.channels, kElements * shape.x.channels,
                    [&](std::int64_t begin, std::int64_t end) {
                      const auto* products = reinterpret_cast<const float*>(scratch + products_at);
                      for (std::int64_t column = begin; column < end; ++column)
                        transform_back(products, column, weights);
                    });
  }

 private:
  // Of strips of so many tiles.
  static std::int64_t floats_of_element(std::int64_t tiles, const Images& images) {
    return tiles * strip_count(images.channels) * kStrip + kApart;
  }

  std::shared_ptr<const onednn::Call> bring(const Images& images) const {
    const Dims dims{shape.images, images.channels, images.size[0], images.size[1]};
    return onednn::reorder(onednn::plain(dims), onednn::channels_last(dims));
  }

  // Of a block's tiles.
  void transform(std::int64_t block, std::byte* scratch) const {
    const std::int64_t count = blocks.size(block);
    const auto* x = reinterpret_cast<const float*>(scratch);
    const auto* flow = reinterpret_cast<const float*>(scratch + flow_at);
    auto* seen = reinterpret_cast<float*>(scratch + seen_at);
    auto* flows = reinterpret_cast<float*>(scratch + flows_at);
    const std::int64_t channels = shape.x.channels + shape.y.channels;
    parallel_ranges(count, kElements * channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin; tile < end; ++tile) {
        const TilePlace place = shape.place_of(blocks.first(block) + tile);
        const auto store_in = [&](float* to, const Images& images) {
          return [=, step = floats_of_element(count, images)](std::int64_t c, std::int64_t element,
                                                              const ChannelVector& lanes) {
            float* const of_element = to + element * step;
            std::memcpy(of_element + (c / kStrip * count + tile) * kStrip + c % kStrip, &lanes, sizeof lanes);
          };
        };
        transform_seen(shape, x, place, store_in(seen, shape.x));
        transform_flow(flow, place, store_in(flows, shape.y));
      }
    });
  }

  template <class Store>
  void transform_flow(const float* flow, const TilePlace& place, const Store& store) const {
    const auto at = elements_at<kResults>(shape.y, flow, place.image, place.first[0], place.first[1]);
    for (std::int64_t c = 0; c < shape.y.channels; c += kChannelLanes) {
      const Square<kSide> square = along_both<gradient_of_products>(loaded<kResults>(at, c));
      for (std::int64_t i = 0; i < kElements; ++i) store(c, i, square[i / kSide][i % kSide]);
    }
  }

  // products [element, channel of y, channel of x]
  void add_products(std::int64_t block, std::int64_t element, std::byte* scratch) const {
    const std::int64_t count = blocks.size(block);
    const std::int64_t channels = shape.x.channels;
    const std::int64_t strips = strip_count(channels);
    const std::int64_t panels = strip_count(shape.y.channels);
    const auto* seen =
        reinterpret_cast<const float*>(scratch + seen_at) + element * floats_of_element(count, shape.x);
    const auto* flows =
        reinterpret_cast<const float*>(scratch + flows_at) + element * floats_of_element(count, shape.y);
    auto* products = reinterpret_cast<float*>(scratch + products_at) + element * shape.y.channels * channels;
    const StripWeights weights{
        .inner = count,
        .columns = channels,
        .numbers = Tensor::adopt(DataType::Float, {strips, count, kStrip}, seen, nullptr)};
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      float* y = products + panel * kStrip * channels;
      multiply_strips(weights,
                      {.x = flows + panel * count * kStrip,
                       .turned_x = kStrip,
                       .rows = std::min(kStrip, shape.y.channels - panel * kStrip),
                       .y = y,
                       .row_y = channels,
                       .addend = block == 0 ? nullptr : y},
                      StripRange{0, strips});
    }
  }

  void transform_back(const float* products, std::int64_t column, float* weights) const {
    const std::int64_t channels = shape.x.channels;
    for (std::int64_t c = 0; c < channels; c += kChannelLanes) {
      Square<kSide> square;
      for (std::int64_t i = 0; i < kElements; ++i)
        square[i / kSide][i % kSide] =
            load_channels(products + (i * shape.y.channels + column) * channels + c);
      const Square<kWindow> window = along_both<gradient_of_w>(square);
      float* to = weights + (column * channels + c) * kTaps;
      for (std::int64_t lane = 0; lane < kChannelLanes; ++lane) {
        for (std::int64_t k = 0; k < kTaps; ++k)
          to[lane * kTaps + k] = window[k / kWindow][k % kWindow][lane];
      }
    }
  }
};

}  // namespace

std::optional<FloatWeightGradient> make_winograd_weight_gradient(const ConvShape& shape) {
  // Lanes of a last strip without a channel would be multiplied as they are found.
  if (shape.in_channels % kStrip != 0 || shape.out_channels % kChannelLanes != 0) return std::nullopt;
  const WindowGradient gradient(Shape::of(shape));
  return FloatWeightGradient{gradient.bytes,
                             [=](const float* x, const float* flow, float* weights, std::byte* scratch) {
                               gradient.run(x, flow, weights, scratch);
                             }};
}

}  // namespace podium::kernels
