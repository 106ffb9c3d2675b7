// A convolution as matrix products: the elements that each window sees as the columns of a matrix.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/ops/conv_shape.h"

namespace podium::kernels {

using ir::ConvShape;

/// Moves between one channel and its rows of the column matrix: one row for each element of the kernel, one
/// column for each output. Outputs are taken by lines, which run along the last axis.
class Columns {
 public:
  explicit Columns(const ir::Window& window);

  std::int64_t lines() const { return lines_; }
  std::int64_t line_size() const { return line_size_; }

  /// Rows of the matrix for lines [begin, end); a row starts every `row_stride` elements.
  template <class T>
  void gather(const T* channel, T padding, std::int64_t begin, std::int64_t end, T* columns,
              std::int64_t row_stride) const;
  /// Adds every element of the matrix (all lines) to the element of the channel it stands for.
  template <class T>
  void scatter_add(const T* columns, T* channel) const;

 private:
  // Per element of the kernel's outer axes and line: where the line's input starts, -1 when it is padding.
  std::vector<std::int64_t> starts_;
  std::vector<ir::Tap> taps_;  // of the last axis
  std::int64_t outer_taps_ = 1;
  std::int64_t lines_ = 1;
  std::int64_t line_size_ = 1;
  std::int64_t stride_ = 1;
};

template <class T>
void Columns::gather(const T* channel, T padding, std::int64_t begin, std::int64_t end, T* columns,
                     std::int64_t row_stride) const {
  T* row = columns;
  for (std::int64_t outer = 0; outer < outer_taps_; ++outer) {
    for (const ir::Tap& tap : taps_) {
      T* to = row;
      for (std::int64_t line = begin; line < end; ++line, to += line_size_) {
        const std::int64_t start = starts_[outer * lines_ + line];
        const bool inside = start >= 0 && tap.begin < tap.end;
        const std::int64_t first = inside ? tap.begin : line_size_;
        const std::int64_t last = inside ? tap.end : line_size_;
        std::fill(to, to + first, padding);
        const T* from = channel + start + tap.shift;
        if (stride_ == 1) {
          std::copy(from + first, from + last, to + first);
        } else {
          for (std::int64_t o = first; o < last; ++o) to[o] = from[o * stride_];
        }
        std::fill(to + last, to + line_size_, padding);
      }
      row += row_stride;
    }
  }
}

template <class T>
void Columns::scatter_add(const T* columns, T* channel) const {
  const T* from = columns;
  for (std::int64_t outer = 0; outer < outer_taps_; ++outer) {
    for (const ir::Tap& tap : taps_) {
      for (std::int64_t line = 0; line < lines_; ++line, from += line_size_) {
        const std::int64_t start = starts_[outer * lines_ + line];
        if (start < 0) continue;
        T* to = channel + start + tap.shift;
        for (std::int64_t o = tap.begin; o < tap.end; ++o) to[o * stride_] += from[o];
      }
    }
  }
}

}  // namespace podium::kernels
