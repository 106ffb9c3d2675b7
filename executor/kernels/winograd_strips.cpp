// 3x3 convolution by Winograd's algorithm F(4x4, 3x3) on channels-last memory, as products with strips of
// transformed weights. A thread takes a block of tiles: what each sees of x, 6 x 6 with all channels, is
// transformed to a row of 36 matrices, these are multiplied by the weights', and the rows of the products are
// transformed to 4 x 4 results.
#include "executor/kernels/winograd_strips.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/kernels/winograd.h"

namespace podium::kernels {
namespace {

using namespace winograd;

// A second-level cache keeps the transformed windows beside what is done with them.
bool are_kept(const Shape& shape) { return floats_of_winograd_windows(shape) <= kKeptFloats; }

// Tiles of a block, for which windows are read once: as many as stay in that cache until their results are
// made, but more where it cannot keep the windows, which then take longer to come than tiles to go and come
// again.
std::int64_t tiles_of_block(const Shape& shape) {
  return std::min<std::int64_t>(shape.tiles(), are_kept(shape) ? 24 : 128);
}

// Of an element of all windows.
std::int64_t floats_of_windows(const Shape& shape) {
  return floats_of_strips(shape.x.channels, shape.y.channels) + kApart;
}

// Whose windows are read together: a column has theirs side by side.
constexpr std::int64_t kBlockChannels = 8;

// A window's taps in the columns of a strip.
using StripTaps = std::array<std::array<float, kStrip>, kTaps>;

// `to`: the first of 36 rows of a strip, `step` numbers apart.
void transform_taps(const StripTaps& taps, float* to, std::int64_t step) {
  for (std::int64_t lane = 0; lane < kStrip; lane += kChannelLanes) {
    Square<kWindow> window;
    for (std::int64_t k = 0; k < kTaps; ++k)
      window[k / kWindow][k % kWindow] = load_channels(taps[k].data() + lane);
    const Square<kSide> square = along_both<transformed_w>(window);
    for (std::int64_t i = 0; i < kElements; ++i) {
      const ChannelVector& element = square[i / kSide][i % kSide];
      std::memcpy(to + i * step + lane, &element, sizeof element);
    }
  }
}

class Convolution {
 public:
  Convolution(const Shape& shape, const WinogradOperands& of) : shape_(shape), of_(of) {
    const std::int64_t strips = strip_count(shape.y.channels);
    const std::int64_t floats = floats_of_windows(shape);
    for (std::int64_t i = 0; i < kElements; ++i) {
      elements_[i] = {.inner = shape.x.channels,
                      .columns = shape.y.channels,
                      .numbers = Tensor::adopt(DataType::Float, {strips, shape.x.channels, kStrip},
                                               of.transformed + i * floats, nullptr)};
    }
  }

  void run() const {
    const std::int64_t tiles = shape_.tiles();
    const std::int64_t threads = std::min(machine_threads(), omp_get_max_threads());
    const std::int64_t at_once = std::min(tiles_of_block(shape_), (tiles + threads - 1) / threads);
    const std::int64_t blocks = (tiles + at_once - 1) / at_once;
    const std::int64_t teams = std::min(blocks, threads);
    parallel_ranges(teams, tiles / teams * shape_.x.channels * shape_.y.channels,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t team = begin; team < end; ++team) {
                        for (std::int64_t i = blocks * team / teams; i < blocks * (team + 1) / teams; ++i)
                          compute(team, i * at_once, std::min((i + 1) * at_once, tiles));
                      }
                    });
  }

  static std::size_t bytes_of_thread(const Shape& shape) {
    const std::int64_t tiles = tiles_of_block(shape);
    const std::int64_t numbers =
        kElements * (floats_of_element(tiles, shape.x.channels) + floats_of_element(tiles, shape.y.channels));
    return onednn::aligned(numbers * sizeof(float));
  }

 private:
  // Of an element of so many tiles.
  static std::int64_t floats_of_element(std::int64_t tiles, std::int64_t channels) {
    return tiles * channels + kApart;
  }

  // Tiles [begin, end).
  void compute(std::int64_t team, std::int64_t begin, std::int64_t end) const {
    const std::int64_t channels = shape_.x.channels;
    const std::int64_t columns = shape_.y.channels;
    auto* seen = reinterpret_cast<float*>(of_.scratch + team * bytes_of_thread(shape_));
    const std::int64_t count = end - begin;
    const std::int64_t seen_step = floats_of_element(count, channels);
    float* products = seen + kElements * seen_step;
    const std::int64_t product_step = floats_of_element(count, columns);
    for (std::int64_t i = 0; i < count; ++i) {
      transform_seen(shape_, of_.x, shape_.place_of(begin + i),
                     [&](std::int64_t c, std::int64_t element, const ChannelVector& lanes) {
                       std::memcpy(seen + element * seen_step + i * channels + c, &lanes, sizeof lanes);
                     });
    }
    for (std::int64_t element = 0; element < kElements; ++element) {
      multiply_strips(
          elements_[element],
          {.x = seen + element * seen_step,
           .rows = count,
           .y = products + element * product_step,
           .row_y = columns,
           .next = element + 1 < kElements ? elements_[element + 1].numbers.data<float>() : nullptr},
          StripRange{0, elements_[element].strips()});
    }
    for (std::int64_t i = 0; i < count; ++i)
      transform_y(shape_.place_of(begin + i), products + i * columns, product_step);
  }

  // Element by element, `step` numbers apart.
  void transform_y(const TilePlace& place, const float* from, std::int64_t step) const {
    for (std::int64_t c = 0; c < shape_.y.channels; c += kChannelLanes) {
      Square<kSide> products;
      for (std::int64_t i = 0; i < kElements; ++i)
        products[i / kSide][i % kSide] = load_channels(from + i * step + c);
      Square<kResults> results = along_both<transformed_y>(products);
      ChannelVector nothing{};  // stays 0 while all numbers are finite
      for (const auto& row : results) {
        for (const ChannelVector& result : row) nothing += result * 0.0F;
      }
      for (std::int64_t lane = 0; lane < kChannelLanes; ++lane) {
        if (nothing[lane] != 0) add_up(place, c + lane, lane, results);
      }
      store(place, c, results);
    }
  }

  // The sums of one channel of a tile's results.
  void add_up(const TilePlace& place, std::int64_t column, std::int64_t lane,
              Square<kResults>& results) const {
    const auto at = seen_at(shape_, of_.x, place);
    for (std::int64_t i = 0; i < kResults; ++i) {
      for (std::int64_t j = 0; j < kResults; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < kTaps; ++k) {
          const float* x = at[(i + k / kWindow) * kSide + j + k % kWindow];
          if (x == nullptr) continue;
          for (std::int64_t c = 0; c < shape_.x.channels; ++c) sum += x[c] * of_.windows.tap(column, c, k);
        }
        results[i][j][lane] = sum;
      }
    }
  }

  void store(const TilePlace& place, std::int64_t c, const Square<kResults>& results) const {
    const Images& y = shape_.y;
    const std::int64_t rows = std::min(kResults, y.size[0] - place.first[0]);
    const std::int64_t across = std::min(kResults, y.size[1] - place.first[1]);
    const ChannelVector bias = of_.bias == nullptr ? ChannelVector{} : load_channels(of_.bias + c);
    const ChannelVector low = ChannelVector{} + of_.low;
    const ChannelVector high = ChannelVector{} + of_.high;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < across; ++j) {
        const std::int64_t at = place.image * y.floats() +
                                ((place.first[0] + i) * y.size[1] + place.first[1] + j) * y.channels + c;
        ChannelVector sum = results[i][j] + bias;
        if (of_.addend != nullptr) sum += load_channels(of_.addend + at);
        sum = sum < low ? low : sum;
        sum = sum > high ? high : sum;
        std::memcpy(of_.y + at, &sum, sizeof sum);
      }
    }
  }

  const Shape& shape_;
  const WinogradOperands& of_;
  std::array<StripWeights, kElements> elements_ = {};
};

}  // namespace

WinogradWindows winograd_windows(const ConvShape& shape, const float* weights) {
  if (!shape.transposed) return {weights, shape.in_channels * kTaps, kTaps};
  return {weights, kTaps, shape.out_channels * kTaps, WinogradWindows::Taps::BackToFront};
}

std::int64_t floats_of_winograd_windows(const Shape& shape) { return kElements * floats_of_windows(shape); }

void transform_windows(const Shape& shape, const WinogradWindows& windows, float* to) {
  const std::int64_t channels = shape.x.channels;
  const std::int64_t strips = strip_count(shape.y.channels);
  const EvenTiles blocks{.things = channels, .at_once = kBlockChannels};
  parallel_ranges(
      strips * blocks.count(), kBlockChannels * kStrip * kElements,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t strip = i / blocks.count();
          const std::int64_t block = i % blocks.count();
          const std::int64_t columns = std::min(kStrip, shape.y.channels - strip * kStrip);
          std::array<StripTaps, kBlockChannels> taps{};  // of columns that the last strip lacks, too
          for (std::int64_t j = 0; j < columns; ++j) {
            for (std::int64_t c = 0; c < blocks.size(block); ++c) {
              for (std::int64_t k = 0; k < kTaps; ++k)
                taps[c][k][j] = windows.tap(strip * kStrip + j, blocks.first(block) + c, k);
            }
          }
          float* const rows = to + (strip * channels + blocks.first(block)) * kStrip;
          for (std::int64_t c = 0; c < blocks.size(block); ++c)
            transform_taps(taps[c], rows + c * kStrip, floats_of_windows(shape));
        }
      });
}

std::size_t scratch_of_winograd_strips(const Shape& shape) {
  return Convolution::bytes_of_thread(shape) * machine_threads();
}

void convolve_by_winograd_strips(const Shape& shape, const WinogradOperands& operands) {
  Convolution(shape, operands).run();
}

bool has_winograd_strips(const Shape& shape) {
  // To hide how long windows take to come, more than twice as many as the library's.
  constexpr std::int64_t kEnoughTiles = 16;
  return shape.x.channels % kChannelLanes == 0 && shape.y.channels % kChannelLanes == 0 &&
         (!kLibraryPacksProducts || are_kept(shape) || shape.tiles() >= kEnoughTiles);
}

std::optional<FloatConv> make_winograd_strips(const ConvShape& shape) {
  const Shape of = Shape::of(shape);
  if (!has_winograd_strips(of)) return std::nullopt;
  const dnnl::memory::dims x{of.images, of.x.channels, of.x.size[0], of.x.size[1]};
  const dnnl::memory::dims y{of.images, of.y.channels, of.y.size[0], of.y.size[1]};
  const std::size_t x_at = onednn::aligned(scratch_of_winograd_strips(of));
  const std::size_t y_at = x_at + onednn::aligned(of.images * of.x.floats() * sizeof(float));
  const std::size_t windows_at = y_at + onednn::aligned(of.images * of.y.floats() * sizeof(float));
  const std::size_t bytes = windows_at + onednn::aligned(floats_of_winograd_windows(of) * sizeof(float));
  if (bytes > kMostWinogradScratch) return std::nullopt;
  const auto bring = onednn::reorder(onednn::plain(x), onednn::channels_last(x));
  const auto give = onednn::reorder(onednn::channels_last(y), onednn::plain(y));
  return FloatConv{
      bytes, [=](const float* from, const float* weights, const float* bias, float* to, std::byte* scratch) {
        auto* const windows = reinterpret_cast<float*>(scratch + windows_at);
        auto* const seen = reinterpret_cast<float*>(scratch + x_at);
        auto* const results = reinterpret_cast<float*>(scratch + y_at);
        (*bring)(std::array<const void*, 2>{from, seen});
        transform_windows(of, winograd_windows(shape, weights), windows);
        convolve_by_winograd_strips(of, {.x = seen,
                                         .windows = winograd_windows(shape, weights),
                                         .transformed = windows,
                                         .bias = bias,
                                         .y = results,
                                         .scratch = scratch});
        (*give)(std::array<const void*, 2>{results, to});
      }};
}

}  // namespace podium::kernels
