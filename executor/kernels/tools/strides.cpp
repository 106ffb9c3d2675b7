// A copy is a nest of loops, each with a count and a step in source and target. Loops that walk both layouts
// without a gap are joined; then the innermost one decides how elements move: as runs of bytes (memcpy), by a
// fill where the source stays, as a transpose where another loop walks the source unit by unit, else one by
// one. A transpose goes by tiles of a cache line, and inside a tile by squares of as many rows as a vector
// has lanes: interleaving row i with row i + n/2, log2(n) times, transposes n x n. Two or three rows, such as
// the colours of an image, go along as they are. The outermost loop is shared by threads.
#include "executor/kernels/tools/strides.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/unit.h"

namespace podium::kernels {

using ir::DataType;
using ir::Dims;

namespace {

// Calls `inner` once for every index of the loops in [loop, last).
template <class Inner>
void walk(const MoveLoop* loop, const MoveLoop* last, const std::byte* from, std::byte* to,
          const Inner& inner) {
  if (loop == last) return inner(from, to);
  for (std::int64_t i = 0; i < loop->count; ++i, from += loop->from, to += loop->to) {
    walk(loop + 1, last, from, to, inner);
  }
}

template <int kUnit>
void move_loop(const MoveLoop& loop, const std::byte* from, std::byte* to) {
  for (std::int64_t i = 0; i < loop.count; ++i, from += loop.from, to += loop.to) Unit<kUnit>::move(from, to);
}

// Runs of whole chunks, too short for a call of memcpy each.
template <int kChunk>
void copy_runs(const MoveLoop& loop, std::size_t bytes, const std::byte* from, std::byte* to) {
  for (std::int64_t i = 0; i < loop.count; ++i, from += loop.from, to += loop.to) {
    for (std::size_t at = 0; at < bytes; at += kChunk) std::memcpy(to + at, from + at, kChunk);
  }
}

void copy_run_loop(const MoveLoop& loop, std::size_t bytes, const std::byte* from, std::byte* to) {
  constexpr std::size_t kLong = 256;
  if (bytes <= kLong && bytes % 64 == 0) return copy_runs<64>(loop, bytes, from, to);
  if (bytes <= kLong && bytes % 32 == 0) return copy_runs<32>(loop, bytes, from, to);
  for (std::int64_t i = 0; i < loop.count; ++i, from += loop.from, to += loop.to)
    std::memcpy(to, from, bytes);
}

template <int kUnit>
void fill(const std::byte* value, std::byte* to, std::int64_t count) {
  if constexpr (kUnit == 0) {
    std::fill_n(reinterpret_cast<std::string*>(to), count, *reinterpret_cast<const std::string*>(value));
  } else {
    std::byte kept[kUnit];
    std::memcpy(kept, value, kUnit);
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * kUnit, kept, kUnit);
  }
}

template <int kUnit>
struct Lane;
template <>
struct Lane<1> {
  using Element = std::uint8_t;
  typedef Element Vector __attribute__((vector_size(16)));
};
template <>
struct Lane<2> {
  using Element = std::uint16_t;
  typedef Element Vector __attribute__((vector_size(16)));
};
template <>
struct Lane<4> {
  using Element = std::uint32_t;
  typedef Element Vector __attribute__((vector_size(16)));
};
template <>
struct Lane<8> {
  using Element = std::uint64_t;
  typedef Element Vector __attribute__((vector_size(16)));
};

template <class Vector, std::size_t... I>
Vector interleave_low(Vector a, Vector b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 * sizeof...(I) + I / 2)...);
}
template <class Vector, std::size_t... I>
Vector interleave_high(Vector a, Vector b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 * sizeof...(I) + (I + sizeof...(I)) / 2)...);
}

// Interleaving row i with row i + n/2, log2(n) times over, is the transpose of n rows of n lanes. A step
// gives its rows to the next by reference: were they copied in a loop, they would leave their registers.
template <std::size_t kStep, class Vector, std::size_t kLanes>
void store_transposed(const Vector (&rows)[kLanes], std::byte* to, std::int64_t to_step) {
  if constexpr (kStep == kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::memcpy(to + static_cast<std::int64_t>(i) * to_step, &rows[i], sizeof(Vector));
    }
  } else {
    constexpr auto kIndices = std::make_index_sequence<kLanes>();
    Vector mixed[kLanes];
    for (std::size_t i = 0; i < kLanes / 2; ++i) {
      mixed[2 * i] = interleave_low(rows[i], rows[i + kLanes / 2], kIndices);
      mixed[2 * i + 1] = interleave_high(rows[i], rows[i + kLanes / 2], kIndices);
    }
    store_transposed<kStep * 2>(mixed, to, to_step);
  }
}

// A square of as many rows as a vector has lanes.
template <int kUnit>
void transpose_square(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step) {
  constexpr std::size_t kLanes = 16 / kUnit;
  typename Lane<kUnit>::Vector rows[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    std::memcpy(&rows[i], from + static_cast<std::int64_t>(i) * from_step, 16);
  }
  store_transposed<1>(rows, to, to_step);
}

// `across` steps through the source by one unit, `along` through the target.
template <int kUnit>
void transpose_part(const MoveLoop& across, const MoveLoop& along, const std::byte* from, std::byte* to) {
  constexpr std::int64_t kLanes = kUnit == 16 || kUnit == 0 ? 1 : 16 / std::max(kUnit, 1);
  std::int64_t row = 0;
  if constexpr (kLanes > 1) {
    for (; row + kLanes <= across.count; row += kLanes) {
      const std::byte* source = from + row * across.from;
      std::byte* target = to + row * across.to;
      std::int64_t column = 0;
      for (; column + kLanes <= along.count; column += kLanes) {
        transpose_square<kUnit>(source + column * along.from, along.from, target + column * along.to,
                                across.to);
      }
      for (; column < along.count; ++column) {
        move_loop<kUnit>({kLanes, across.from, across.to}, source + column * along.from,
                         target + column * along.to);
      }
    }
  }
  for (; row < across.count; ++row) move_loop<kUnit>(along, from + row * across.from, to + row * across.to);
}

template <int kUnit>
using Word __attribute__((may_alias, aligned(1))) = typename Lane<kUnit>::Element;

// Of two or three rows with whole vectors along them, where one of both layouts has no gap: `few` goes over
// the rows.
template <int kUnit, int kFew>
void interleave(const MoveLoop& few, const MoveLoop& many, const std::byte* from, std::byte* to) {
  const auto* source = reinterpret_cast<const Word<kUnit>*>(from);
  auto* __restrict target = reinterpret_cast<Word<kUnit>*>(to);
  const std::int64_t row = few.from / kUnit;
  for (std::int64_t i = 0; i < many.count; ++i) {
    for (int k = 0; k < kFew; ++k) target[i * kFew + k] = source[k * row + i];
  }
}

template <int kUnit, int kFew>
void separate(const MoveLoop& few, const MoveLoop& many, const std::byte* from, std::byte* to) {
  const auto* source = reinterpret_cast<const Word<kUnit>*>(from);
  auto* __restrict target = reinterpret_cast<Word<kUnit>*>(to);
  const std::int64_t row = few.to / kUnit;
  for (std::int64_t i = 0; i < many.count; ++i) {
    for (int k = 0; k < kFew; ++k) target[k * row + i] = source[i * kFew + k];
  }
}

// Whether it was a transpose of this kind.
template <int kUnit, int kFew>
bool transpose_few(const MoveLoop& across, const MoveLoop& along, const std::byte* from, std::byte* to) {
  const bool closes_target = along.count == kFew && across.to == kFew * kUnit;
  const bool closes_source = across.count == kFew && along.from == kFew * kUnit;
  if (closes_target) interleave<kUnit, kFew>(along, across, from, to);
  if (closes_source && !closes_target) separate<kUnit, kFew>(across, along, from, to);
  return closes_target || closes_source;
}

// In tiles of one cache line by as many rows, so that a line of the source is read once.
template <int kUnit>
void transpose(const MoveLoop& across, const MoveLoop& along, const std::byte* from, std::byte* to) {
  if constexpr (kUnit == 1 || kUnit == 2 || kUnit == 4 || kUnit == 8) {
    if (transpose_few<kUnit, 2>(across, along, from, to) || transpose_few<kUnit, 3>(across, along, from, to))
      return;
  }
  constexpr std::int64_t kTile = kUnit == 0 ? 16 : std::max(64 / std::max(kUnit, 1), 16);
  for (std::int64_t row = 0; row < across.count; row += kTile) {
    const MoveLoop rows{std::min(kTile, across.count - row), across.from, across.to};
    for (std::int64_t column = 0; column < along.count; column += kTile) {
      const MoveLoop columns{std::min(kTile, along.count - column), along.from, along.to};
      transpose_part<kUnit>(rows, columns, from + row * across.from + column * along.from,
                            to + row * across.to + column * along.to);
    }
  }
}

// Drops loops of one and joins neighbours that walk both layouts without a gap.
std::vector<MoveLoop> joined(const std::vector<MoveLoop>& loops, std::int64_t element_bytes) {
  std::vector<MoveLoop> result;
  for (const MoveLoop& loop : loops) {
    if (loop.count == 1) continue;
    const MoveLoop inner{loop.count, loop.from * element_bytes, loop.to * element_bytes};
    if (!result.empty() && result.back().from == inner.from * inner.count &&
        result.back().to == inner.to * inner.count) {
      result.back() = {result.back().count * inner.count, inner.from, inner.to};
    } else {
      result.push_back(inner);
    }
  }
  return result;
}

}  // namespace

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::int64_t count_of(const Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

StridedCopy::StridedCopy(DataType type, const std::vector<MoveLoop>& loops) : unit_(unit_of(type)) {
  if (std::any_of(loops.begin(), loops.end(), [](const MoveLoop& loop) { return loop.count <= 0; })) return;
  const std::int64_t element_bytes = ir::storage_bytes(type);
  loops_ = joined(loops, element_bytes);
  if (loops_.empty()) loops_.push_back({1, element_bytes, element_bytes});
  bytes_ = element_bytes;
  for (const MoveLoop& loop : loops_) bytes_ *= loop.count;
  const MoveLoop last = loops_.back();
  if (unit_ != 0 && last.from == element_bytes && last.to == element_bytes) {
    loops_.pop_back();
    run_bytes_ = last.count * element_bytes;
    if (loops_.empty() || !is_unit(run_bytes_)) {
      inner_ = Inner::Runs;
      return;
    }
    unit_ = run_bytes_;
  }
  choose_inner();
}

void StridedCopy::choose_inner() {
  const std::int64_t step = unit_ == 0 ? static_cast<std::int64_t>(sizeof(std::string)) : unit_;
  inner_ = Inner::Elements;
  if (loops_.back().to != step) return;
  if (loops_.back().from == 0) {
    inner_ = Inner::Fill;
  } else if (pair_for_transpose()) {
    inner_ = Inner::Transpose;
  }
}

// Moves the loop that walks the source unit by unit before the last, which walks the target so.
bool StridedCopy::pair_for_transpose() {
  for (std::size_t i = 0; unit_ != 0 && i + 1 < loops_.size(); ++i) {
    if (loops_[i].from != unit_) continue;
    std::rotate(loops_.begin() + i, loops_.begin() + i + 1, loops_.end() - 1);
    return true;
  }
  return false;
}

// The loops with the first cut to a part of its count.
void StridedCopy::run_part(std::int64_t count, const std::byte* source, std::byte* target) const {
  // A run must not allocate; ranks that stay above this when loops are joined may.
  std::array<MoveLoop, 12> few;
  std::vector<MoveLoop> many(loops_.size() > few.size() ? loops_.size() : 0);
  MoveLoop* first = many.empty() ? few.data() : many.data();
  const MoveLoop* last = std::copy(loops_.begin(), loops_.end(), first);
  if (!loops_.empty()) first->count = count;
  if (inner_ == Inner::Runs) {
    if (first == last) return copy_run_loop({1, 0, 0}, run_bytes_, source, target);
    return walk(first, last - 1, source, target,
                [&](const std::byte* a, std::byte* b) { copy_run_loop(*(last - 1), run_bytes_, a, b); });
  }
  with_unit(unit_, [&](auto unit) {
    constexpr int kUnit = decltype(unit)::value;
    const MoveLoop& inner = *(last - 1);
    if (inner_ == Inner::Transpose) {
      walk(first, last - 2, source, target,
           [&](const std::byte* a, std::byte* b) { transpose<kUnit>(*(last - 2), inner, a, b); });
    } else if (inner_ == Inner::Fill) {
      walk(first, last - 1, source, target,
           [&](const std::byte* a, std::byte* b) { fill<kUnit>(a, b, inner.count); });
    } else {
      walk(first, last - 1, source, target,
           [&](const std::byte* a, std::byte* b) { move_loop<kUnit>(inner, a, b); });
    }
  });
}

void StridedCopy::run(const void* from, void* to) const {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (inner_ == Inner::Nothing) return;
  // Copying a string may fail, which no thread but the first could say.
  if (loops_.empty() || unit_ == 0)
    return run_part(loops_.empty() ? 0 : loops_.front().count, source, target);
  const MoveLoop& outer = loops_.front();
  parallel_ranges(outer.count, bytes_ / outer.count / kBytesPerCost,
                  [&](std::int64_t begin, std::int64_t end) {
                    run_part(end - begin, source + begin * outer.from, target + begin * outer.to);
                  });
}

void copy_elements(DataType type, const void* from, void* to, std::int64_t count) {
  if (type == DataType::String) {
    std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
  } else if (count > 0) {
    std::memcpy(to, from, count * ir::storage_bytes(type));
  }
}

void fill_elements(DataType type, const void* value, void* to, std::int64_t count) {
  with_unit(unit_of(type), [&](auto unit) {
    fill<decltype(unit)::value>(static_cast<const std::byte*>(value), static_cast<std::byte*>(to), count);
  });
}

void zero_elements(DataType type, void* to, std::int64_t count) {
  if (type == DataType::String) {
    std::fill_n(static_cast<std::string*>(to), count, std::string());
  } else {
    auto* bytes = static_cast<std::byte*>(to);
    parallel_ranges(count * ir::storage_bytes(type), 1, [&](std::int64_t begin, std::int64_t end) {
      std::memset(bytes + begin, 0, end - begin);
    });
  }
}

}  // namespace podium::kernels
