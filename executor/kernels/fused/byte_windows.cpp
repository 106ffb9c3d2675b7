#include "executor/kernels/fused/byte_windows.h"

#include <algorithm>
#include <cstring>

#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {

PaddedBytes::PaddedBytes(const Dims& x, const ConvolutionWindow& window)
    : x_(x), padded_(x), begin_(window.pads_begin) {
  for (std::size_t i = 0; i < begin_.size(); ++i) padded_[i + 1] += window.pads_begin[i] + window.pads_end[i];
}

// The line of X that stands in this line of the copy; nullptr in the border.
const std::uint8_t* PaddedBytes::line_of(const std::uint8_t* x, std::int64_t line) const {
  std::int64_t at = 0;
  std::int64_t step = 1;
  for (std::size_t axis = x_.size() - 2; axis-- > 0;) {
    const std::int64_t begin = axis == 0 ? 0 : begin_[axis - 1];
    const std::int64_t here = line % padded_[axis] - begin;
    if (here < 0 || here >= x_[axis]) return nullptr;
    at += here * step;
    step *= x_[axis];
    line /= padded_[axis];
  }
  return x + at * x_[x_.size() - 2] * x_.back();
}

void PaddedBytes::copy(const std::uint8_t* x, std::uint8_t border, std::uint8_t* padded) const {
  const std::int64_t lines = count_of(padded_, 0, padded_.size() - 2);
  const std::int64_t channels = padded_.back();
  const std::int64_t bytes = padded_[padded_.size() - 2] * channels;
  const std::int64_t before = begin_.back() * channels;
  const std::int64_t copied = std::min(x_[x_.size() - 2] * channels, bytes - before);
  parallel_ranges(lines, bytes, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t line = first; line < last; ++line) {
      std::uint8_t* to = padded + line * bytes;
      const std::uint8_t* from = line_of(x, line);
      if (from == nullptr) {
        std::memset(to, border, bytes);
        continue;
      }
      std::memset(to, border, before);
      std::memcpy(to + before, from, copied);
      std::memset(to + before + copied, border, bytes - before - copied);
    }
  });
}

WindowSums::WindowSums(const Dims& x, const Dims& kernel, const ConvolutionWindow& window,
                       std::int64_t groups)
    : positions_(count_of(x, 0, x.size() - 1)), groups_(groups), of_group_(x.back() / groups) {
  Dims dims = x;
  dims.back() = groups;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t dilation = window.dilations[i] + 1;
    const std::int64_t windows = (dims[i + 1] - (kernel[i] - 1) * dilation - 1) / window.strides[i] + 1;
    axes_.push_back({.outer = count_of(dims, 0, i + 1),
                     .length = dims[i + 1],
                     .inner = count_of(dims, i + 2, dims.size()),
                     .windows = windows,
                     .kernel = kernel[i],
                     .stride = window.strides[i],
                     .dilation = dilation});
    dims[i + 1] = windows;
  }
}

std::size_t WindowSums::scratch_bytes() const { return 2 * sizeof(std::int32_t) * positions_ * groups_; }

void WindowSums::slide(const Axis& axis, const std::int32_t* from, std::int32_t* to) {
  // Pieces of the inner axes go side by side where few lie outside of this one.
  constexpr std::int64_t kPiece = 256;
  const std::int64_t pieces = (axis.inner + kPiece - 1) / kPiece;
  parallel_ranges(axis.outer * pieces, axis.windows * axis.kernel * std::min(axis.inner, kPiece),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                      const std::int64_t begin = i % pieces * kPiece;
                      const std::int64_t count = std::min(kPiece, axis.inner - begin);
                      const std::int32_t* lines = from + i / pieces * axis.length * axis.inner + begin;
                      std::int32_t* sums = to + i / pieces * axis.windows * axis.inner + begin;
                      // Windows one beside the other are one line, as are their elements.
                      const bool is_line = axis.stride == 1 && pieces == 1;
                      const std::int64_t rows = is_line ? 1 : axis.windows;
                      const std::int64_t size = is_line ? axis.windows * axis.inner : count;
                      for (std::int64_t row = 0; row < rows; ++row) {
                        std::int32_t* sum = sums + row * axis.inner;
                        std::fill_n(sum, size, 0);
                        for (std::int64_t k = 0; k < axis.kernel; ++k) {
                          const std::int32_t* line =
                              lines + (row * axis.stride + k * axis.dilation) * axis.inner;
                          for (std::int64_t j = 0; j < size; ++j) sum[j] += line[j];
                        }
                      }
                    }
                  });
}

template <class Byte>
const std::int32_t* WindowSums::run(const Byte* x, std::int32_t* scratch) const {
  std::int32_t* sums = scratch;
  parallel_ranges(positions_, groups_ * of_group_, [&](std::int64_t first, std::int64_t last) {
    if (of_group_ == 1) {
      std::copy(x + first * groups_, x + last * groups_, sums + first * groups_);
      return;
    }
    for (std::int64_t i = first * groups_; i < last * groups_; ++i) {
      const Byte* channels = x + i * of_group_;
      std::int32_t sum = 0;
      for (std::int64_t c = 0; c < of_group_; ++c) sum += channels[c];
      sums[i] = sum;
    }
  });
  std::int32_t* other = scratch + positions_ * groups_;
  for (const Axis& axis : axes_) {
    if (axis.kernel == 1 && axis.stride == 1) continue;
    slide(axis, sums, other);
    std::swap(sums, other);
  }
  return sums;
}

template const std::int32_t* WindowSums::run(const std::int8_t*, std::int32_t*) const;
template const std::int32_t* WindowSums::run(const std::uint8_t*, std::int32_t*) const;

}  // namespace podium::kernels
