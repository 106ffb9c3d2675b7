// The two products of attention for rows of one head, whose K and V are packed once for all its rows, and the
// order in which threads take heads and rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {

/// K is [positions, head], V [positions, v_head].
struct HeadShape {
  std::int64_t positions = 0;
  std::int64_t head = 0;
  std::int64_t v_head = 0;
};

/// Where a matrix lies: elements from one row to the next, and from one column to the next.
struct MatrixSteps {
  std::int64_t row = 0;
  std::int64_t column = 1;
};

/// Positions [first, last).
struct PositionRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Rows that lie one `step` of elements after the other.
template <class T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t step = 0;
};

/// How K and V of heads of one shape and layout are packed, and multiplied then. Packed memory is the
/// caller's, `floats()` of them. Calls are for one thread, and a row's numbers are the same whatever rows are
/// beside it.
class HeadProducts {
 public:
  HeadProducts(const HeadShape& shape, const MatrixSteps& k, const MatrixSteps& v);

  std::int64_t floats() const { return floats_of_k_ + floats_of_v_; }
  /// Once for memory that `pack` then fills any number of times.
  void clear(float* packed) const;
  void pack(const float* k, const float* v, float* packed) const;

  /// Columns [first rounded down to a whole strip, last) of scores = Q K^T; those of position 0 are at
  /// scores.data.
  void scores(const float* packed, const HeadRows<const float>& q, std::int64_t rows,
              const PositionRange& seen, const HeadRows<float>& scores) const;
  /// y = scores V over the positions of the range alone.
  void values(const float* packed, const HeadRows<const float>& scores, std::int64_t rows,
              const PositionRange& seen, const HeadRows<float>& y) const;

 private:
  // Packing in strips: of whole ones, and of what is left for the last.
  struct Packing {
    Packing(std::int64_t inner, std::int64_t columns, const MatrixSteps& steps);
    void run(const float* from, float* to) const;

    std::int64_t whole_from;  // elements that the whole strips take of the matrix
    std::int64_t whole_to;
    StridedCopy whole;
    StridedCopy rest;
  };

  HeadShape shape_;
  std::int64_t floats_of_k_;
  std::int64_t floats_of_v_;
  Packing pack_k_;
  Packing pack_v_;
};

/// Heads in blocks of rows, whose scores a second-level cache keeps beside a packed head.
class HeadBlocks {
 public:
  /// `sharing`: heads of Q beside each other that have the same K and V.
  HeadBlocks(std::int64_t heads, std::int64_t sharing, std::int64_t rows, const HeadShape& shape);

  static constexpr std::int64_t kMostRows = 72;  ///< of a block
  /// Floats from one row of scores to the next. Rows that are a power of two apart would share few places of
  /// the first cache.
  std::int64_t score_step() const { return score_step_; }
  /// Memory that `run` wants.
  std::size_t bytes() const;

  /// Calls `pack(head, packed)` and then `attend(head, first row, rows, packed, scores)` for all blocks. Each
  /// thread takes blocks that lie side by side, so that few heads are packed by two.
  template <class Pack, class Attend>
  void run(const HeadProducts& products, float* memory, const Pack& pack, const Attend& attend) const {
    const std::int64_t blocks = (rows_ + rows_of_block_ - 1) / rows_of_block_;
    const std::int64_t units = heads_ * blocks;
    const std::int64_t threads = threads_for(units);
    for_each_on(static_cast<int>(threads), threads, [&](std::int64_t thread) {
      float* packed = memory + thread * floats_of_thread_;
      float* scores = packed + products.floats();
      products.clear(packed);
      std::int64_t at_hand = -1;
      for (std::int64_t unit = units * thread / threads; unit < units * (thread + 1) / threads; ++unit) {
        const std::int64_t head = unit / blocks;
        if (head / sharing_ != at_hand) pack(head, packed);
        at_hand = head / sharing_;
        const std::int64_t first = unit % blocks * rows_of_block_;
        attend(head, first, std::min(rows_of_block_, rows_ - first), packed, scores);
      }
    });
  }

 private:
  static std::int64_t threads_for(std::int64_t units);

  std::int64_t heads_;
  std::int64_t sharing_;
  std::int64_t rows_;
  std::int64_t rows_of_block_;
  std::int64_t score_step_;
  std::int64_t floats_of_thread_;
};

}  // namespace podium::kernels
