// A strip is multiplied with up to six rows of x at a time, whose sums stay in registers while the strip goes
// by once; with AVX-512 each half of a strip of floats is with seven or eight. One row is multiplied with
// several strips where a strip has not enough sums to hide how long an addition takes. Weights of few bits
// become floats in registers too, and their scales are applied to the sums of a group; for more rows than go
// over a strip at once a strip of them becomes floats in a second-level cache first.
// Where several tiles of rows go over a strip, each of them asks for a share of the strip that comes next, in
// equal steps all the while: a second-level cache then has it in time, from wherever it comes.
#include "executor/kernels/tools/strip_products.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/packed_store.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#else
constexpr std::int64_t kLanes = 8;
#endif
constexpr std::int64_t kParts = kStrip / kLanes;
template <StripNumbers kNumbers>
constexpr int kTileRows = are_floats(kNumbers) ? kMostFloatRows : kMostStripRows;
constexpr std::int64_t kLineBytes = 64;
// Weights that no cache has any longer are asked for so far ahead, where the processor does not do that in
// time by itself: of floats where a row has many sums, and of few bits, whose pages are over sooner.
constexpr std::int64_t kFloatsAhead = kLanes == 16 ? 8192 : 2048;
constexpr std::int64_t kBitsAhead = kLanes == 16 ? 8192 : 0;
constexpr std::int64_t bytes_ahead(StripNumbers numbers, int rows) {
  if (numbers != StripNumbers::Floats) return kBitsAhead;
  return rows > 3 ? kFloatsAhead : 0;
}
// Whether a tile asks for what comes next beside, and then for nothing of its own where that is several lines
// a row.
enum class Asks : std::uint8_t { Own, Next };
using FloatLanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using WordLanes [[gnu::vector_size(kLanes * sizeof(std::int32_t))]] = std::int32_t;

// The compiler widens bytes in two steps, with twice as many shuffles as the one that there is for it.
WordLanes signed_bytes(const std::uint8_t* from) {
#if defined(__AVX512F__)
  constexpr __mmask16 kAll = 0xFFFF;
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<WordLanes>(_mm512_maskz_cvtepi8_epi32(kAll, bytes));
#elif defined(__AVX2__)
  return reinterpret_cast<WordLanes>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  WordLanes words;
  for (std::int64_t j = 0; j < kLanes; ++j) words[j] = static_cast<std::int8_t>(from[j]);
  return words;
#endif
}

// Part `part` of a row of 8 or 4 bits: of codes a row has first the low halves of its bytes, then the high
// ones.
template <StripNumbers kNumbers>
WordLanes codes_of(const std::uint8_t* row, std::int64_t part) {
  constexpr std::int64_t kPartsOfAHalf = kParts / 2;
  const bool is_high = kNumbers == StripNumbers::Codes && part >= kPartsOfAHalf;
  const WordLanes words = signed_bytes(row + (is_high ? part - kPartsOfAHalf : part) * kLanes);
  if constexpr (kNumbers == StripNumbers::Bytes) return words;
  return is_high ? (words >> 4) & 15 : words & 15;
}

FloatLanes lanes_at(const void* from) {
  FloatLanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

FloatLanes floats_of_halves(const std::uint8_t* from) {
#if defined(__AVX512F__)
  return reinterpret_cast<FloatLanes>(
      _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__F16C__)
  return reinterpret_cast<FloatLanes>(
      _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  FloatLanes floats;
  for (std::int64_t j = 0; j < kLanes; ++j) {
    ir::Float16 half;
    std::memcpy(&half, from + j * sizeof half, sizeof half);
    floats[j] = static_cast<float>(half);
  }
  return floats;
#endif
}

// A bfloat16 is the upper half of a float.
FloatLanes floats_of_bfloats(const std::uint8_t* from) {
  constexpr int kLowerBits = 16;
  std::uint16_t upper [[gnu::vector_size(kLanes * sizeof(std::uint16_t))]];
  std::memcpy(&upper, from, sizeof upper);
  return reinterpret_cast<FloatLanes>(__builtin_convertvector(upper, WordLanes) << kLowerBits);
}

// Part `part` of a row of a strip, less its zero points, if there are any.
template <StripNumbers kNumbers, bool kHasZeros>
FloatLanes widened(const std::uint8_t* row, const float* zero, std::int64_t part) {
  if constexpr (are_floats(kNumbers)) {
    const std::uint8_t* from = row + part * kLanes * bits_of(kNumbers) / 8;
    if constexpr (kNumbers == StripNumbers::Floats) return lanes_at(from);
    return kNumbers == StripNumbers::Halves ? floats_of_halves(from) : floats_of_bfloats(from);
  }
  FloatLanes wide = __builtin_convertvector(codes_of<kNumbers>(row, part), FloatLanes);
  if constexpr (kHasZeros) {
    wide -= lanes_at(zero + part * kLanes);
  }
  return wide;
}

// How many strips are multiplied with so many rows at a time.
constexpr int strips_at_once(int rows) {
  constexpr std::int64_t kSums = kLanes == 16 ? 4 : 8;
  return static_cast<int>(std::max<std::int64_t>(1, kSums / (rows * kParts)));
}

// The sums of a tile of y: of rows, and of strips that lie one after the other. All that works on them is
// inlined and unrolled, so that they stay in registers.
template <int kRows, int kStrips, int kWidth = kParts>
using Tile = FloatLanes[kRows][kStrips * kWidth];

template <int kRows, int kSums>
[[gnu::always_inline]] inline void clear(FloatLanes (&tile)[kRows][kSums]) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) tile[r][i] = FloatLanes{};
  }
}

// A share of what is multiplied next: `step` bytes more for each row of a strip.
struct Share {
  const std::uint8_t* at = nullptr;
  std::int64_t step = 0;
};

// Adds to the tile the products of `count` rows of its strips, the first of which starts at `strip`; `x`: of
// each row the number that the first of these is multiplied with, `step` elements before the next.
template <StripNumbers kNumbers, bool kHasZeros, int kStrips, int kWidth = kParts, Asks kAsks = Asks::Own,
          int kRows>
[[gnu::always_inline]] inline void add_products(const std::uint8_t* strip, std::int64_t bytes_of_strip,
                                                const float* zeros, std::int64_t zeros_of_strip,
                                                const float* const (&x)[kRows], std::int64_t step,
                                                std::int64_t count, float unit, const Share& next,
                                                Tile<kRows, kStrips, kWidth>& tile) {
  constexpr std::int64_t kBytes = kStrip * bits_of(kNumbers) / 8;
  constexpr std::int64_t kLines = std::max<std::int64_t>(1, kBytes * kWidth / kParts / kLineBytes);
  constexpr std::int64_t kAhead = kAsks == Asks::Next && kLines > 1 ? 0 : bytes_ahead(kNumbers, kRows);
  constexpr int kSecondLevel = 2;
  FloatLanes units;
  for (std::int64_t j = 0; j < kLanes; ++j) units[j] = unit;
  const std::uint8_t* strips[kStrips];
  for (int s = 0; s < kStrips; ++s) strips[s] = strip + s * bytes_of_strip;
  for (std::int64_t l = 0; l < count; ++l) {
    if constexpr (kAsks == Asks::Next) __builtin_prefetch(next.at + l * next.step, 0, kSecondLevel);
    if constexpr (kAhead > 0) {
#pragma GCC unroll 8
      for (int line = 0; line < kLines; ++line)
        __builtin_prefetch(strips[0] + l * kBytes + kAhead + line * kLineBytes);
    }
    FloatLanes wide[kStrips * kWidth];
#pragma GCC unroll 8
    for (int s = 0; s < kStrips; ++s) {
#pragma GCC unroll 8
      for (std::int64_t part = 0; part < kWidth; ++part)
        wide[s * kWidth + part] =
            widened<kNumbers, kHasZeros>(strips[s] + l * kBytes, zeros + s * zeros_of_strip, part);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = x[r][l * step];
      if constexpr (are_floats(kNumbers)) {
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kStrips * kWidth; ++i) tile[r][i] += factor * wide[i];
      } else {
        const FloatLanes factors = factor * units;
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kStrips * kWidth; ++i) tile[r][i] += factors * wide[i];
      }
    }
  }
}

// What is done with the sums of a row and a strip.
class Ending {
 public:
  explicit Ending(const StripOperands& of)
      : of_(of),
        clamps_(of.low != -std::numeric_limits<float>::infinity() ||
                of.high != std::numeric_limits<float>::infinity()) {}

  template <int kWidth>
  [[gnu::always_inline]] void store(const FloatLanes* sums, std::int64_t row, std::int64_t column,
                                    std::int64_t count) const {
    const std::int64_t at = row * of_.row_y + column;
    if (count == kWidth * kLanes) {
#pragma GCC unroll 8
      for (std::int64_t part = 0; part < kWidth; ++part) store_lanes(sums[part], at, column, part * kLanes);
      return;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      float sum = sums[j / kLanes][j % kLanes];
      if (of_.bias != nullptr) sum += of_.bias[column + j];
      if (of_.addend != nullptr) sum += of_.addend[at + j];
      const float raised = sum < of_.low ? of_.low : sum;
      of_.y[at + j] = raised > of_.high ? of_.high : raised;
    }
  }

 private:
  void store_lanes(FloatLanes sum, std::int64_t at, std::int64_t column, std::int64_t lane) const {
    if (of_.bias != nullptr) sum += lanes_at(of_.bias + column + lane);
    if (of_.addend != nullptr) sum += lanes_at(of_.addend + at + lane);
    if (clamps_) {  // comparisons with NaN are false
      const FloatLanes low = FloatLanes{} + of_.low;
      const FloatLanes high = FloatLanes{} + of_.high;
      sum = sum < low ? low : sum;
      sum = sum > high ? high : sum;
    }
    std::memcpy(of_.y + at + lane, &sum, sizeof sum);
  }

  const StripOperands& of_;
  bool clamps_;
};

// Sums of floats: stretch by stretch of each row.
template <StripNumbers kNumbers, int kStrips, int kWidth, Asks kAsks, int kRows>
[[gnu::always_inline]] inline void add_floats(const StripWeights& w, const std::uint8_t* numbers,
                                              const StripOperands& of, std::int64_t row, const Share& next,
                                              Tile<kRows, kStrips, kWidth>& tile) {
  const std::int64_t stretches = of.stretched.stretches;
  const std::int64_t length = w.inner / stretches;
  const std::int64_t bytes_of_strip = w.inner * w.bytes_of_row();
  for (std::int64_t stretch = 0; stretch < stretches; ++stretch) {
    const float* x[kRows];
    for (int r = 0; r < kRows; ++r) {
      if (of.turned_x != 0) {
        x[r] = of.x + row + r;
      } else {
        x[r] = of.stretched.starts == nullptr ? of.x + (row + r) * (of.row_x == 0 ? w.inner : of.row_x)
                                              : of.stretched.starts[(row + r) * stretches + stretch];
      }
    }
    const std::int64_t first = stretch * length;
    add_products<kNumbers, false, kStrips, kWidth, kAsks>(
        numbers + first * w.bytes_of_row(), bytes_of_strip, nullptr, 0, x, of.turned_x == 0 ? 1 : of.turned_x,
        length, 1, {next.at + first * next.step, next.step}, tile);
  }
}

// Sums of weights of few bits: the sums of a group, times its scales.
template <StripNumbers kNumbers, int kStrips, int kRows>
[[gnu::always_inline]] inline void add_groups(const StripWeights& w, std::int64_t strip,
                                              const std::uint8_t* numbers, const StripOperands& of,
                                              std::int64_t row, Tile<kRows, kStrips>& tile) {
  const std::int64_t bytes_of_strip = w.inner * w.bytes_of_row();
  const std::int64_t scales_of_strip = w.groups * kStrip;
  const std::int64_t zero_step = w.zero_points.rank() == 1 ? 0 : 1;
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const std::int64_t first = group * w.group;
    const std::int64_t count = std::min(first + w.group, w.inner) - first;
    const std::int64_t at = (strip * w.groups + group) * kStrip;
    const float* x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = of.x + (row + r) * w.inner + first;
    Tile<kRows, kStrips> sums;
    clear(sums);
    const auto* rows = numbers + first * w.bytes_of_row();
    if (w.zero_points.defined()) {
      const float* zeros = w.zero_points.data<float>() + at * zero_step;
      add_products<kNumbers, true, kStrips>(rows, bytes_of_strip, zeros, scales_of_strip * zero_step, x, 1,
                                            count, w.unit, {}, sums);
    } else {
      add_products<kNumbers, false, kStrips>(rows, bytes_of_strip, nullptr, 0, x, 1, count, w.unit, {}, sums);
    }
    for (int s = 0; s < kStrips; ++s) {
      for (std::int64_t part = 0; part < kParts; ++part) {
        const FloatLanes scales = lanes_at(w.scales.data<float>() + at + s * scales_of_strip + part * kLanes);
        const std::int64_t i = s * kParts + part;
        for (int r = 0; r < kRows; ++r) tile[r][i] += scales * sums[r][i];
      }
    }
  }
}

const std::uint8_t* strip_at(const StripWeights& w, std::int64_t strip) {
  return static_cast<const std::uint8_t*>(w.numbers.raw()) + strip * w.inner * w.bytes_of_row();
}

// Of strips of floats it may be some parts of one alone, from `first_part` on.
template <StripNumbers kNumbers, int kRows, int kStrips, int kWidth = kParts, Asks kAsks = Asks::Own>
void multiply_tile(const StripWeights& w, std::int64_t strip, const StripOperands& of, std::int64_t row,
                   std::int64_t first_part = 0, const Share& next = {}) {
  const std::uint8_t* numbers = strip_at(w, strip);
  Tile<kRows, kStrips, kWidth> tile;
  clear(tile);
  if constexpr (are_floats(kNumbers)) {
    constexpr std::int64_t kBytesOfPart = kLanes * bits_of(kNumbers) / 8;
    add_floats<kNumbers, kStrips, kWidth, kAsks>(w, numbers + first_part * kBytesOfPart, of, row, next, tile);
  } else {
    add_groups<kNumbers, kStrips>(w, strip, numbers, of, row, tile);
  }
  const Ending ending(of);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int s = 0; s < kStrips; ++s) {
      const std::int64_t column = (strip + s) * kStrip + first_part * kLanes;
      const std::int64_t count = std::min(kWidth * kLanes, w.columns - column);
      ending.store<kWidth>(tile[r] + s * kWidth, row + r, column, count);
    }
  }
}

// More rows than have their sums of a whole strip in registers go over one half of the strip, then over the
// other, so that all weights are read once.
template <StripNumbers kNumbers, int kRows>
void multiply_row_tile(const StripWeights& w, const StripRange& range, const StripOperands& of,
                       std::int64_t row) {
  std::int64_t strip = range.begin;
  if constexpr (kRows > kMostStripRows) {
    constexpr int kHalf = kParts / 2;
    for (; strip < range.end; ++strip) {
      multiply_tile<kNumbers, kRows, 1, kHalf>(w, strip, of, row);
      multiply_tile<kNumbers, kRows, 1, kHalf>(w, strip, of, row, kHalf);
    }
  } else {
    constexpr int kStrips = strips_at_once(kRows);
    for (; strip + kStrips <= range.end; strip += kStrips)
      multiply_tile<kNumbers, kRows, kStrips>(w, strip, of, row);
    for (; strip < range.end; ++strip) multiply_tile<kNumbers, kRows, 1>(w, strip, of, row);
  }
}

struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Of a last strip that is not full the parts that have columns.
template <StripNumbers kNumbers>
void multiply_part_tiles(const StripWeights& w, std::int64_t strip, const StripOperands& of,
                         const RowRange& rows) {
  constexpr int kMostRows = kTileRows<kNumbers>;
  const std::int64_t parts = (w.columns - strip * kStrip + kLanes - 1) / kLanes;
  const EvenTiles tiles{.things = rows.end - rows.begin, .at_once = kMostRows};
  with_constant<kParts - 1>(parts, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
      with_constant<kMostRows>(tiles.size(tile), [&]<int kRows>(std::integral_constant<int, kRows>) {
        multiply_tile<kNumbers, kRows, 1, kWidth>(w, strip, of, rows.begin + tiles.first(tile));
      });
    }
  });
}

// Rows in tiles of nearly equal heights: a low one keeps the processor as long as a higher one.
// `next`: the strip that comes next, or nullptr; asked for of floats alone.
template <StripNumbers kNumbers>
void multiply_row_tiles(const StripWeights& w, const StripRange& range, const StripOperands& of,
                        const RowRange& rows, const std::uint8_t* next) {
  const std::int64_t count = rows.end - rows.begin;
  if constexpr (are_floats(kNumbers)) {
    if (count >= kMostStripRows && w.columns - range.begin * kStrip <= kStrip - kLanes)
      return multiply_part_tiles<kNumbers>(w, range.begin, of, rows);
  }
  // More than go over a strip once: a whole one has more sums for each number that is loaded.
  const std::int64_t most = count > kTileRows<kNumbers> ? kMostStripRows : kTileRows<kNumbers>;
  const EvenTiles tiles{.things = count, .at_once = most};
  const std::int64_t step = std::min(kLineBytes, (w.bytes_of_row() + tiles.count() - 1) / tiles.count());
  for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
    with_constant<kTileRows<kNumbers>>(tiles.size(tile), [&]<int kRows>(std::integral_constant<int, kRows>) {
      const std::int64_t row = rows.begin + tiles.first(tile);
      if constexpr (kNumbers == StripNumbers::Floats && kRows <= kMostStripRows) {
        if (next != nullptr && tiles.count() > 1)
          return multiply_tile<kNumbers, kRows, 1, kParts, Asks::Next>(w, range.begin, of, row, 0,
                                                                       {next + tile * step * w.inner, step});
      }
      multiply_row_tile<kNumbers, kRows>(w, range, of, row);
    });
  }
}

void multiply_rows(const StripWeights& w, const StripRange& range, const StripOperands& of,
                   const RowRange& rows, const std::uint8_t* next) {
  switch (w.kind) {
    case StripNumbers::Floats:
      return multiply_row_tiles<StripNumbers::Floats>(w, range, of, rows, next);
    case StripNumbers::Halves:
      return multiply_row_tiles<StripNumbers::Halves>(w, range, of, rows, next);
    case StripNumbers::Bfloats:
      return multiply_row_tiles<StripNumbers::Bfloats>(w, range, of, rows, next);
    case StripNumbers::Bytes:
      return multiply_row_tiles<StripNumbers::Bytes>(w, range, of, rows, next);
    case StripNumbers::Codes:
      return multiply_row_tiles<StripNumbers::Codes>(w, range, of, rows, next);
  }
}

// A strip of few bits as floats.
template <StripNumbers kNumbers>
void widen_strip(const StripWeights& w, std::int64_t strip, float* to) {
  const std::uint8_t* row = strip_at(w, strip);
  const std::int64_t zero_step = w.zero_points.rank() == 1 ? 0 : 1;
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const std::int64_t at = (strip * w.groups + group) * kStrip;
    FloatLanes scales[kParts];
    FloatLanes zeros[kParts] = {};
    for (std::int64_t part = 0; part < kParts; ++part) {
      scales[part] = lanes_at(w.scales.data<float>() + at + part * kLanes) * w.unit;
      if (w.zero_points.defined())
        zeros[part] = lanes_at(w.zero_points.data<float>() + at * zero_step + part * kLanes);
    }
    const std::int64_t end = std::min((group + 1) * w.group, w.inner);
    for (std::int64_t l = group * w.group; l < end; ++l, row += w.bytes_of_row(), to += kStrip) {
      for (std::int64_t part = 0; part < kParts; ++part) {
        const FloatLanes wide = (widened<kNumbers, false>(row, nullptr, part) - zeros[part]) * scales[part];
        std::memcpy(to + part * kLanes, &wide, sizeof wide);
      }
    }
  }
}

int threads_for_widening(const StripWeights& w) {
  return static_cast<int>(std::min<std::int64_t>({w.strips(), machine_threads(), omp_get_max_threads()}));
}

// Strip by strip, each of which becomes floats once for all rows.
void multiply_widened(const StripWeights& w, const StripOperands& of) {
  const int threads = threads_for_widening(w);
  for_each_on(threads, w.strips(), [&](std::int64_t strip) {
    const std::int64_t own = threads == 1 ? 0 : omp_get_thread_num();
    float* floats = of.widened + own * w.inner * kStrip;
    w.kind == StripNumbers::Bytes ? widen_strip<StripNumbers::Bytes>(w, strip, floats)
                                  : widen_strip<StripNumbers::Codes>(w, strip, floats);
    const std::int64_t first = strip * kStrip;
    const StripWeights wide{.inner = w.inner,
                            .columns = std::min(kStrip, w.columns - first),
                            .numbers = ir::Tensor::view(ir::DataType::Float, {w.inner, kStrip}, floats)};
    StripOperands here = of;
    here.y += first;
    if (here.bias != nullptr) here.bias += first;
    if (here.addend != nullptr) here.addend += first;
    multiply_rows(wide, {0, 1}, here, {0, of.rows}, nullptr);
  });
}

// Rows of x that a second-level cache keeps beside two strips.
std::int64_t rows_of_block(const StripWeights& w) {
  constexpr std::int64_t kLeast = 16 * kMostStripRows;
  return std::max(kLeast, kKeptFloats / std::max<std::int64_t>(w.inner, 1));
}

// Columns that lie side by side are copied; of rows that do, blocks of a line of the cache are turned.
template <class T>
void pack_tap(const WeightMatrix<T>& w, std::int64_t tap, std::int64_t first, T* to) {
  const std::int64_t count = std::min(kStrip, w.columns - first);
  const std::int64_t rows = w.inner / w.taps;
  const T* from = w.at + tap * w.tap_step + first * w.column_step;
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t block = 0; block < rows; block += kBlock) {
    const std::int64_t end = std::min(block + kBlock, rows);
    if (w.column_step == 1) {
      for (std::int64_t l = block; l < end; ++l) std::copy_n(from + l * w.row_step, count, to + l * kStrip);
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t l = block; l < end; ++l)
          to[l * kStrip + j] = from[l * w.row_step + j * w.column_step];
      }
    }
    for (std::int64_t l = block; count < kStrip && l < end; ++l)
      std::fill(to + l * kStrip + count, to + (l + 1) * kStrip, T{});
  }
}

template <class T>
void pack_strip(const WeightMatrix<T>& w, std::int64_t first, T* to) {
  for (std::int64_t tap = 0; tap < w.taps; ++tap)
    pack_tap(w, tap, first, to + tap * (w.inner / w.taps) * kStrip);
}

template <class T>
void pack_strips(const WeightMatrix<T>& w, T* to) {
  parallel_ranges(strip_count(w.columns), w.inner * kStrip, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip)
      pack_strip(w, strip * kStrip, to + strip * w.inner * kStrip);
  });
}

template <class T>
WeightMatrix<T> matrix_of(const ir::Tensor& weights, StripSource source) {
  const auto* at = static_cast<const T*>(weights.raw());
  const std::int64_t first = weights.dim(0);
  const std::int64_t second = weights.dim(1);
  switch (source) {
    case StripSource::Plain:
      return WeightMatrix<T>::plain(at, first, second);
    case StripSource::Transposed:
      return WeightMatrix<T>::transposed(at, second, first);
    case StripSource::Taps:
      break;
  }
  return WeightMatrix<T>::by_taps(at, weights.size() / (first * second), second, first);
}

// What their packing is called.
std::string name_of_packing(StripSource source, StripNumbers kind) {
  const std::string_view name = source == StripSource::Plain        ? "strips"
                                : source == StripSource::Transposed ? "transposed strips"
                                                                    : "strips of taps";
  return fmt::format("{}{}", name, bits_of(kind) == 32 ? "" : " of 16 bits");
}

// T: the weights' bits; `element`: what has as many.
template <class T>
StripWeights known_strips(const PrepareContext& context, const ir::Tensor& weights, StripSource source,
                          StripNumbers kind, ir::DataType element) {
  const bool is_plain = source == StripSource::Plain;
  const std::int64_t columns = weights.dim(is_plain ? 1 : 0);
  const std::int64_t inner = is_plain ? weights.dim(0) : weights.size() / std::max<std::int64_t>(columns, 1);
  StripWeights strips{.inner = inner, .columns = columns, .kind = kind};
  const ir::Dims dims{strips.strips(), strips.inner, kStrip};
  strips.numbers = kept(context, {.name = name_of_packing(source, kind), .from = weights},
                        ir::Type::tensor(element, dims), [&](const ir::Tensor& numbers) {
                          ir::Tensor packed(element, dims);
                          pack_strips(matrix_of<T>(numbers, source), static_cast<T*>(packed.raw()));
                          return packed;
                        });
  return strips;
}

}  // namespace

std::int64_t floats_of_strips(std::int64_t inner, std::int64_t columns) {
  return strip_count(columns) * kStrip * inner;
}

StripWeights strips_of(const MatrixOfFloats& weights, float* memory) {
  StripWeights strips{.inner = weights.inner, .columns = weights.columns};
  const ir::Dims dims{strips.strips(), weights.inner, kStrip};
  strips.numbers = memory == nullptr ? ir::Tensor(ir::DataType::Float, dims)
                                     : ir::Tensor::adopt(ir::DataType::Float, dims, memory, nullptr);
  pack_strips(weights, static_cast<float*>(strips.numbers.raw()));
  return strips;
}

StripWeights strips_of(const PrepareContext& context, const ir::Tensor& weights, StripSource source) {
  using ir::DataType;
  if (weights.type() == DataType::Float)
    return known_strips<float>(context, weights, source, StripNumbers::Floats, DataType::Float);
  const bool is_half = weights.type() == DataType::Float16;
  return known_strips<std::uint16_t>(
      context, weights, source, is_half ? StripNumbers::Halves : StripNumbers::Bfloats, DataType::Uint16);
}

void multiply_strips(const StripWeights& weights, const StripOperands& operands, const StripRange& range) {
  for (std::int64_t strip = range.begin; strip < range.end; ++strip) {
    const auto* next = strip + 1 < range.end ? strip_at(weights, strip + 1)
                                             : reinterpret_cast<const std::uint8_t*>(operands.next);
    multiply_rows(weights, {strip, strip + 1}, operands, {0, operands.rows}, next);
  }
}

std::size_t bytes_for_widening(const StripWeights& weights, std::int64_t rows) {
  if (are_floats(weights.kind) || rows <= kMostStripRows) return 0;
  return machine_threads() * weights.inner * kStrip * sizeof(float);
}

void multiply_strips(const StripWeights& weights, const StripOperands& operands, StripOrder order) {
  if (operands.rows == 0) return;
  if (operands.widened != nullptr && bytes_for_widening(weights, operands.rows) > 0)
    return multiply_widened(weights, operands);
  const std::int64_t cost = operands.rows * weights.inner * kStrip;
  const std::int64_t at_once =
      strips_at_once(static_cast<int>(std::min<std::int64_t>(operands.rows, kMostStripRows)));
  const EvenTiles blocks{.things = operands.rows, .at_once = rows_of_block(weights)};
  parallel_ranges(weights.strips(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = 0; block < blocks.count(); ++block) {
      const RowRange rows{blocks.first(block), blocks.first(block + 1)};
      const std::int64_t outermost = order == StripOrder::Forth ? begin : end - 1;
      const std::uint8_t* after = block + 1 < blocks.count() ? strip_at(weights, outermost) : nullptr;
      for (std::int64_t i = begin; i < end; i += at_once) {
        const std::int64_t count = std::min(at_once, end - i);
        const std::int64_t first = order == StripOrder::Forth ? i : end - (i - begin) - count;
        const std::int64_t next = order == StripOrder::Forth ? first + count : first - 1;
        multiply_rows(weights, {first, first + count}, operands, rows,
                      next >= begin && next < end ? strip_at(weights, next) : after);
      }
    }
  });
}

}  // namespace podium::kernels
