#include "executor/kernels/conv_columns.h"

namespace podium::kernels {

namespace {

// A window over at least one axis.
ir::Window with_axis(ir::Window window) {
  if (window.rank() > 0) return window;
  for (ir::Dims* dims : {&window.input, &window.kernel, &window.strides, &window.dilations, &window.output}) {
    dims->push_back(1);
  }
  window.pads_begin.push_back(0);
  window.pads_end.push_back(0);
  return window;
}

}  // namespace

Columns::Columns(const ir::Window& given) {
  const ir::Window window = with_axis(given);
  const std::size_t last = window.rank() - 1;
  taps_ = ir::taps_of(window, last);
  line_size_ = window.output[last];
  stride_ = window.strides[last];
  std::vector<std::vector<std::int64_t>> starts{{0}};  // per element of the kernel: per line
  for (std::size_t axis = 0; axis < last; ++axis) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& before : starts) {
      for (const ir::Tap& tap : ir::taps_of(window, axis)) {
        std::vector<std::int64_t> lines;
        for (std::int64_t start : before) {
          for (std::int64_t o = 0; o < window.output[axis]; ++o) {
            const bool inside = start >= 0 && o >= tap.begin && o < tap.end;
            lines.push_back(inside ? start * window.input[axis] + o * window.strides[axis] + tap.shift : -1);
          }
        }
        longer.push_back(std::move(lines));
      }
    }
    starts = std::move(longer);
    lines_ *= window.output[axis];
  }
  outer_taps_ = std::ssize(starts);
  for (const auto& lines : starts) {
    for (std::int64_t start : lines) starts_.push_back(start < 0 ? -1 : start * window.input[last]);
  }
}

}  // namespace podium::kernels
