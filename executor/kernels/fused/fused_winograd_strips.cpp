// 3x3 convolution by Winograd's algorithm F(4x4, 3x3) on channels-last memory, as products with strips of
// transformed weights. A thread takes a block of tiles: what each sees of x, 6 x 6 with all channels, is
// transformed to a row of 36 matrices, these are multiplied by the weights', and the rows of the products are
// transformed to 4 x 4 results. The transforms make NaN of what lies beside an infinity, so results that are
// not all finite are computed once more, by their sums.
//
// The transforms evaluate at 0, +-a, +-b and infinity. With a b = 1 few factors are left, and with
// a = sqrt(1/2) and b = sqrt(2) rounding is half of that with the usual 1 and 2.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>
#include <optional>
#include <utility>

#include "executor/kernels/fused/fused_conv.h"
#include "executor/kernels/row_vectors.h"
#include "executor/kernels/strip_products.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kSide = 6;  // of what a tile sees
constexpr std::int64_t kResults = ir::kWinogradTile;
constexpr std::int64_t kWindow = 3;
constexpr std::int64_t kElements = kSide * kSide;
constexpr std::int64_t kBlockTiles = 24;  // for which weights are read once

constexpr float kA = 0.5F * std::numbers::sqrt2_v<float>;
constexpr float kB = std::numbers::sqrt2_v<float>;
constexpr float kA2 = 0.5F;
constexpr float kB2 = 2;

std::array<RowVector, kSide> transformed_x(const std::array<RowVector, kSide>& d) {
  const RowVector even_a = d[4] - kB2 * d[2];
  const RowVector odd_a = kA * (d[3] - kB2 * d[1]);
  const RowVector even_b = d[4] - kA2 * d[2];
  const RowVector odd_b = kB * (d[3] - kA2 * d[1]);
  constexpr float kSum = kA2 + kB2;
  return {d[0] - kSum * d[2] + d[4], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b,
          d[1] - kSum * d[3] + d[5]};
}

std::array<RowVector, kSide> transformed_w(const std::array<RowVector, kWindow>& g) {
  constexpr float kOfA = 1 / (2 * kA2 * (kA2 - kB2));
  constexpr float kOfB = 1 / (2 * kB2 * (kB2 - kA2));
  const RowVector even_a = kOfA * (g[0] + kA2 * g[2]);
  const RowVector odd_a = kOfA * kA * g[1];
  const RowVector even_b = kOfB * (g[0] + kB2 * g[2]);
  const RowVector odd_b = kOfB * kB * g[1];
  return {g[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, g[2]};
}

std::array<RowVector, kResults> transformed_y(const std::array<RowVector, kSide>& m) {
  const RowVector even_a = m[1] + m[2];
  const RowVector odd_a = kA * (m[1] - m[2]);
  const RowVector even_b = m[3] + m[4];
  const RowVector odd_b = kB * (m[3] - m[4]);
  return {m[0] + even_a + even_b, odd_a + odd_b, kA2 * even_a + kB2 * even_b,
          kA2 * odd_a + kB2 * odd_b + m[5]};
}

// A window's taps in the columns of a strip, then its element of the transformed ones.
using StripTaps = std::array<std::array<float, kStrip>, kWindow * kWindow>;

// `to`: the first of 36 rows of a strip, `step` numbers apart.
void transform_weights(const StripTaps& taps, float* to, std::int64_t step) {
  for (std::int64_t lane = 0; lane < kStrip; lane += ir::kRowLanes) {
    const auto tap = [&](std::int64_t row, std::int64_t column) {
      return load_row(taps[row * kWindow + column].data() + lane);
    };
    std::array<std::array<RowVector, kSide>, kWindow> along;  // of each row
    for (std::int64_t r = 0; r < kWindow; ++r) along[r] = transformed_w({tap(r, 0), tap(r, 1), tap(r, 2)});
    for (std::int64_t x = 0; x < kSide; ++x) {
      const auto column = transformed_w({along[0][x], along[1][x], along[2][x]});
      for (std::int64_t y = 0; y < kSide; ++y)
        std::memcpy(to + (y * kSide + x) * step + lane, &column[y], sizeof column[y]);
    }
  }
}

// Of weights [M, C, 3, 3], for each element a matrix [C, M] in strips.
Tensor transformed_weights(const Tensor& weights) {
  const std::int64_t columns = weights.dim(0);
  const std::int64_t channels = weights.dim(1);
  const std::int64_t strips = (columns + kStrip - 1) / kStrip;
  Tensor all(DataType::Float, {kElements, strips, channels, kStrip});
  const auto* from = weights.data<float>();
  auto* to = all.data<float>();
  parallel_ranges(strips * channels, kStrip * kElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i / channels * kStrip;
      StripTaps taps{};  // of columns that the last strip lacks, too
      for (std::int64_t j = 0; j < std::min(kStrip, columns - first); ++j) {
        const float* window = from + ((first + j) * channels + i % channels) * kWindow * kWindow;
        for (std::int64_t k = 0; k < kWindow * kWindow; ++k) taps[k][j] = window[k];
      }
      transform_weights(taps, to + i * kStrip, strips * channels * kStrip);
    }
  });
  return all;
}

struct WinogradShape {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t columns = 0;  // channels of y
  std::array<std::int64_t, 2> x = {};
  std::array<std::int64_t, 2> y = {};
  std::array<std::int64_t, 2> pads = {};

  explicit WinogradShape(const ConvolutionPlan& plan)
      : images(plan.x[0]),
        channels(plan.x[1]),
        columns(plan.y[1]),
        x{plan.x[2], plan.x[3]},
        y{plan.y[2], plan.y[3]},
        pads{plan.window.pads_begin[0], plan.window.pads_begin[1]} {}

  std::int64_t tiles_along(std::size_t axis) const { return (y[axis] + kResults - 1) / kResults; }
  std::int64_t tiles() const { return images * tiles_along(0) * tiles_along(1); }
};

// Where a tile's results lie.
struct TilePlace {
  std::int64_t image = 0;
  std::array<std::int64_t, 2> first = {};
};

class StripWinograd {
 public:
  StripWinograd(PrepareContext& context, const ConvolutionPlan& plan)
      : shape_(plan), weights_(*context.constant(1)), clamp_(plan.clamp.value_or(kNoClamp)) {
    const std::int64_t strips = (shape_.columns + kStrip - 1) / kStrip;
    numbers_ = kept(context, {.name = "Winograd strips", .from = *context.constant(1)},
                    ir::Type::tensor(DataType::Float, {kElements, strips, shape_.channels, kStrip}),
                    [&] { return transformed_weights(*context.constant(1)); });
    const float* at = std::as_const(numbers_).data<float>();
    for (StripWeights& element : elements_) {
      element = {.inner = shape_.channels,
                 .columns = shape_.columns,
                 .numbers = Tensor::adopt(DataType::Float, {strips, shape_.channels, kStrip}, at, nullptr)};
      at += numbers_.size() / kElements;
    }
    std::size_t scratch = bytes_of_thread() * machine_threads();
    // When the threads are done.
    activation_ = activation_call(onednn::channels_last(plan.y), plan.activation, scratch);
    context.need_scratch(scratch);
  }

  void operator()(const RunContext& run) const {
    const std::int64_t tiles = shape_.tiles();
    const std::int64_t threads = std::min(machine_threads(), omp_get_max_threads());
    const std::int64_t at_once = std::min(kBlockTiles, (tiles + threads - 1) / threads);
    const std::int64_t blocks = (tiles + at_once - 1) / at_once;
    const std::int64_t teams = std::min(blocks, threads);
    parallel_ranges(teams, tiles / teams * shape_.channels * shape_.columns,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t team = begin; team < end; ++team) {
                        for (std::int64_t i = blocks * team / teams; i < blocks * (team + 1) / teams; ++i)
                          compute(run, team, i * at_once, std::min((i + 1) * at_once, tiles));
                      }
                    });
    activate_result(activation_, run);
  }

 private:
  std::size_t bytes_of_thread() const {
    const std::int64_t numbers = kElements * kBlockTiles * (shape_.channels + shape_.columns);
    return onednn::aligned(numbers * sizeof(float));
  }

  TilePlace place_of(std::int64_t tile) const {
    const std::int64_t across = shape_.tiles_along(1);
    const std::int64_t of_image = shape_.tiles_along(0) * across;
    const std::int64_t in_image = tile % of_image;
    return {.image = tile / of_image, .first = {in_image / across * kResults, in_image % across * kResults}};
  }

  // Tiles [begin, end).
  void compute(const RunContext& run, std::int64_t team, std::int64_t begin, std::int64_t end) const {
    auto* seen = reinterpret_cast<float*>(run.scratch_memory + team * bytes_of_thread());
    float* products = seen + kElements * kBlockTiles * shape_.channels;
    const std::int64_t count = end - begin;
    for (std::int64_t i = 0; i < count; ++i)
      transform_x(run, place_of(begin + i), seen + i * shape_.channels, count * shape_.channels);
    for (std::int64_t element = 0; element < kElements; ++element) {
      multiply_strips(elements_[element],
                      {.x = seen + element * count * shape_.channels,
                       .rows = count,
                       .y = products + element * count * shape_.columns,
                       .row_y = shape_.columns},
                      StripRange{0, elements_[element].strips()});
    }
    for (std::int64_t i = 0; i < count; ++i)
      transform_y(run, place_of(begin + i), products + i * shape_.columns, count * shape_.columns);
  }

  // Element by element, `step` numbers apart.
  void transform_x(const RunContext& run, const TilePlace& place, float* to, std::int64_t step) const {
    const auto* image =
        run.input(0).data<float>() + place.image * shape_.x[0] * shape_.x[1] * shape_.channels;
    std::array<const float*, kElements> from{};  // nullptr: outside
    for (std::int64_t i = 0; i < kSide; ++i) {
      const std::int64_t row = place.first[0] - shape_.pads[0] + i;
      for (std::int64_t j = 0; j < kSide; ++j) {
        const std::int64_t column = place.first[1] - shape_.pads[1] + j;
        if (row >= 0 && row < shape_.x[0] && column >= 0 && column < shape_.x[1])
          from[i * kSide + j] = image + (row * shape_.x[1] + column) * shape_.channels;
      }
    }
    for (std::int64_t c = 0; c < shape_.channels; c += ir::kRowLanes) {
      std::array<std::array<RowVector, kSide>, kSide> along;  // of each column
      for (std::int64_t j = 0; j < kSide; ++j) {
        std::array<RowVector, kSide> column;
        for (std::int64_t i = 0; i < kSide; ++i) {
          const float* at = from[i * kSide + j];
          column[i] = at == nullptr ? RowVector{} : load_row(at + c);
        }
        along[j] = transformed_x(column);
      }
      for (std::int64_t i = 0; i < kSide; ++i) {
        const auto row =
            transformed_x({along[0][i], along[1][i], along[2][i], along[3][i], along[4][i], along[5][i]});
        for (std::int64_t j = 0; j < kSide; ++j)
          std::memcpy(to + (i * kSide + j) * step + c, &row[j], sizeof row[j]);
      }
    }
  }

  using Results = std::array<std::array<RowVector, kResults>, kResults>;

  void transform_y(const RunContext& run, const TilePlace& place, const float* from,
                   std::int64_t step) const {
    for (std::int64_t c = 0; c < shape_.columns; c += ir::kRowLanes) {
      std::array<std::array<RowVector, kResults>, kSide> along;  // of each column
      for (std::int64_t j = 0; j < kSide; ++j) {
        std::array<RowVector, kSide> column;
        for (std::int64_t i = 0; i < kSide; ++i) column[i] = load_row(from + (i * kSide + j) * step + c);
        along[j] = transformed_y(column);
      }
      Results results;
      RowVector nothing{};  // stays 0 while all numbers are finite
      for (std::int64_t i = 0; i < kResults; ++i) {
        results[i] =
            transformed_y({along[0][i], along[1][i], along[2][i], along[3][i], along[4][i], along[5][i]});
        for (const RowVector& result : results[i]) nothing += result * 0.0F;
      }
      for (std::int64_t lane = 0; lane < ir::kRowLanes; ++lane) {
        if (nothing[lane] != 0) add_up(run, place, c + lane, lane, results);
      }
      store(run, place, c, results);
    }
  }

  // The sums of one channel of a tile's results.
  void add_up(const RunContext& run, const TilePlace& place, std::int64_t channel, std::int64_t lane,
              Results& results) const {
    const auto* image =
        run.input(0).data<float>() + place.image * shape_.x[0] * shape_.x[1] * shape_.channels;
    const float* weights = weights_.data<float>() + channel * shape_.channels * kWindow * kWindow;
    for (std::int64_t i = 0; i < kResults; ++i) {
      for (std::int64_t j = 0; j < kResults; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < kWindow * kWindow; ++k) {
          const std::int64_t row = place.first[0] - shape_.pads[0] + i + k / kWindow;
          const std::int64_t column = place.first[1] - shape_.pads[1] + j + k % kWindow;
          if (row < 0 || row >= shape_.x[0] || column < 0 || column >= shape_.x[1]) continue;
          const float* x = image + (row * shape_.x[1] + column) * shape_.channels;
          for (std::int64_t c = 0; c < shape_.channels; ++c) sum += x[c] * weights[c * kWindow * kWindow + k];
        }
        results[i][j][lane] = sum;
      }
    }
  }

  void store(const RunContext& run, const TilePlace& place, std::int64_t c, const Results& results) const {
    const std::int64_t image = place.image * shape_.y[0] * shape_.y[1];
    const std::int64_t rows = std::min(kResults, shape_.y[0] - place.first[0]);
    const std::int64_t across = std::min(kResults, shape_.y[1] - place.first[1]);
    const auto* addend = run.has_input(3) ? run.input(3).data<float>() : nullptr;
    const RowVector bias = run.has_input(2) ? load_row(run.input(2).data<float>() + c) : RowVector{};
    const RowVector low = all_lanes(clamp_.low);
    const RowVector high = all_lanes(clamp_.high);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < across; ++j) {
        const std::int64_t at =
            (image + (place.first[0] + i) * shape_.y[1] + place.first[1] + j) * shape_.columns + c;
        RowVector sum = results[i][j] + bias;
        if (addend != nullptr) sum += load_row(addend + at);
        sum = sum < low ? low : sum;
        sum = sum > high ? high : sum;
        std::memcpy(run.output(0).data<float>() + at, &sum, sizeof sum);
      }
    }
  }

  WinogradShape shape_;
  Tensor numbers_;                                     // [element, strip, channel, column of the strip]
  std::array<StripWeights, kElements> elements_ = {};  // each of them
  Tensor weights_;                                     // as they were
  Clamp clamp_;
  std::shared_ptr<const onednn::Call> activation_;
};

}  // namespace

std::optional<PreparedKernel> prepare_strip_winograd(PrepareContext& context, const ConvolutionPlan& plan) {
  if (kLibraryPacksProducts || plan.x[1] % ir::kRowLanes != 0 || plan.y[1] % ir::kRowLanes != 0 ||
      !suits_winograd(context, plan))
    return std::nullopt;
  return StripWinograd(context, plan);
}

}  // namespace podium::kernels
