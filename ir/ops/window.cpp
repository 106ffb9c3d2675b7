// Per spatial axis, with padded = input + begin + end and extent = (kernel - 1) dilation + 1:
//   output = (padded - extent) / stride + 1, rounded down, or up in ceil_mode but for windows that would
//   start in the padding at the end.
// SAME chooses the output first, ceil(input / stride), and pads as much as that needs, the odd element at the
// end (UPPER) or the beginning. ConvTranspose goes the other way: the output is
//   (input - 1) stride + extent + output_padding - begin - end,
// or it is declared and the padding follows from it. A Tap is one element of the kernel with the range of
// outputs for which it lies inside the input.
#include "ir/ops/window.h"

#include <algorithm>
#include <limits>

namespace podium::ir {

namespace {

// Libraries that kernels call count in 32 bits, and add up two of these numbers.
constexpr std::int64_t kMostEntry = std::numeric_limits<std::int32_t>::max() / 2;

enum class AutoPad { NotSet, SameUpper, SameLower, Valid };

AutoPad auto_pad_of(const TypedOp& op) {
  const auto* name = op.get_if<std::string>("auto_pad");
  if (name == nullptr || *name == "NOTSET" || name->empty()) return AutoPad::NotSet;
  if (*name == "SAME_UPPER") return AutoPad::SameUpper;
  if (*name == "SAME_LOWER") return AutoPad::SameLower;
  if (*name == "VALID") return AutoPad::Valid;
  throw Error("auto_pad is '{}', it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", *name);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Dims spatial_dims(const Dims& x) {
  if (x.size() < 2) throw Error("input has shape {}, at least [N, C] needed", to_string(x));
  return {x.begin() + 2, x.end()};
}

void check_entries(std::string_view name, const Dims& list, std::int64_t least) {
  for (std::int64_t entry : list) {
    if (entry < least) throw Error("{} is {}, at least {} needed", name, to_string(list), least);
    if (entry > kMostEntry) throw Error("{} is {}, at most {} needed", name, to_string(list), kMostEntry);
  }
}

Window read_window(const TypedOp& op, Dims input, Dims kernel) {
  const std::size_t rank = input.size();
  Window window{.input = std::move(input), .kernel = std::move(kernel)};
  if (window.kernel.size() != rank) {
    throw Error("kernel_shape {} has {} axes, the input has {} spatial ones", to_string(window.kernel),
                window.kernel.size(), rank);
  }
  for (const Dims& sizes : {window.input, window.kernel}) {
    for (std::int64_t size : sizes) {
      if (size > kMostEntry)
        throw Error("a spatial axis has {} elements, at most {} needed", size, kMostEntry);
    }
  }
  window.strides = window_list(op, "strides", rank, 1, 1);
  window.dilations = window_list(op, "dilations", rank, 1, 1);
  window.pads_begin.assign(rank, 0);
  window.pads_end.assign(rank, 0);
  if (auto_pad_of(op) == AutoPad::NotSet) {
    const Dims pads = window_list(op, "pads", rank * 2, 0, 0);
    std::copy_n(pads.begin(), rank, window.pads_begin.begin());
    std::copy_n(pads.begin() + rank, rank, window.pads_end.begin());
  }
  window.output.assign(rank, kUnknown);
  return window;
}

// The larger half of an odd padding is at the end for SAME_UPPER, at the begin otherwise.
void split_padding(Window& window, std::size_t axis, std::int64_t total, bool larger_at_end) {
  total = std::max<std::int64_t>(total, 0);
  window.pads_begin[axis] = larger_at_end ? total / 2 : total - total / 2;
  window.pads_end[axis] = total - window.pads_begin[axis];
}

bool is_known(const Window& window, std::size_t axis) {
  return window.input[axis] != kUnknown && window.kernel[axis] != kUnknown;
}

// `padded` elements, along which a window slides.
void check_reach(const Window& window, std::size_t axis, std::int64_t padded) {
  const std::int64_t reach = std::max(padded, window.extent(axis));
  if (reach > kMostEntry) {
    throw Error("windows reach over {} elements of spatial axis {}, at most {} needed", reach, axis,
                kMostEntry);
  }
}

std::int64_t window_count(const Window& window, std::size_t axis, bool ceil_mode) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t padded = window.input[axis] + window.pads_begin[axis] + window.pads_end[axis];
  const std::int64_t room = padded - window.extent(axis);
  std::int64_t count = floor_divide(room, stride) + 1;
  if (ceil_mode) {
    // Windows that would start in the padding at the end are left out.
    const std::int64_t starts = floor_divide(window.input[axis] + window.pads_begin[axis] - 1, stride) + 1;
    count = std::min(floor_divide(room + stride - 1, stride) + 1, starts);
  }
  if (count < 0) {
    throw Error("a window of {} does not fit the padded input of {} on spatial axis {}", window.extent(axis),
                padded, axis);
  }
  return count;
}

void find_output(Window& window, AutoPad auto_pad, bool ceil_mode) {
  for (std::size_t i = 0; i < window.rank(); ++i) {
    if (!is_known(window, i)) continue;
    if (auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower) {
      const std::int64_t stride = window.strides[i];
      window.output[i] = (window.input[i] + stride - 1) / stride;
      const std::int64_t total = (window.output[i] - 1) * stride + window.extent(i) - window.input[i];
      split_padding(window, i, total, auto_pad == AutoPad::SameUpper);
    } else {
      // With VALID the two roundings of ceil_mode give the same number of windows.
      window.output[i] = window_count(window, i, ceil_mode && auto_pad == AutoPad::NotSet);
    }
    check_reach(window, i, window.input[i] + window.pads_begin[i] + window.pads_end[i]);
  }
}

Dims kernel_of_weights(const TypedOp& op, const Dims& x, const Dims& w) {
  if (w.size() != x.size()) {
    throw Error("weights have shape {}, rank {} needed for an input of {}", to_string(w), x.size(),
                to_string(x));
  }
  Dims kernel(w.begin() + 2, w.end());
  const auto* declared = op.get_if<IntList>("kernel_shape");
  if (declared == nullptr || declared->empty()) return kernel;
  bool fits = declared->size() == kernel.size();
  for (std::size_t i = 0; fits && i < kernel.size(); ++i) {
    fits = kernel[i] == kUnknown || kernel[i] == (*declared)[i];
  }
  if (!fits) throw Error("kernel_shape is {}, the weights have shape {}", to_string(*declared), to_string(w));
  return window_list(op, "kernel_shape", kernel.size(), 0, 0);
}

// The spatial part of ConvTranspose's output_shape; empty when the attribute is not there.
Dims declared_output(const TypedOp& op, std::size_t rank) {
  const auto* shape = op.get_if<IntList>("output_shape");
  if (shape == nullptr || shape->empty()) return {};
  // Some exporters give the whole shape.
  if (shape->size() != rank && shape->size() != rank + 2)
    throw Error("output_shape {} has {} entries, {} needed", to_string(*shape), shape->size(), rank);
  const Dims spatial(shape->end() - static_cast<std::ptrdiff_t>(rank), shape->end());
  check_entries("output_shape", spatial, 0);
  return spatial;
}

}  // namespace

Dims window_list(const TypedOp& op, std::string_view name, std::size_t size, std::int64_t fallback,
                 std::int64_t least) {
  const auto* list = op.get_if<IntList>(name);
  if (list == nullptr || list->empty()) return Dims(size, fallback);
  if (list->size() != size) throw Error("{} is {}, {} entries needed", name, to_string(*list), size);
  check_entries(name, *list, least);
  return *list;
}

std::vector<Tap> taps_of(const Window& window, std::size_t axis) {
  std::vector<Tap> taps;
  const std::int64_t stride = window.strides[axis];
  for (std::int64_t k = 0; k < window.kernel[axis]; ++k) {
    Tap tap{.shift = k * window.dilations[axis] - window.pads_begin[axis]};
    // o * stride + shift lies in [0, input).
    const std::int64_t last = window.input[axis] - 1 - tap.shift;
    tap.end = last < 0 ? 0 : std::min(window.output[axis], last / stride + 1);
    tap.begin = std::min(tap.end, tap.shift >= 0 ? 0 : (-tap.shift + stride - 1) / stride);
    taps.push_back(tap);
  }
  return taps;
}

Window conv_window(const TypedOp& op, const Dims& x, const Dims& w) {
  Dims input = spatial_dims(x);
  Window window = read_window(op, std::move(input), kernel_of_weights(op, x, w));
  find_output(window, auto_pad_of(op), false);
  return window;
}

Window conv_transpose_window(const TypedOp& op, const Dims& x, const Dims& w) {
  Dims input = spatial_dims(x);
  Window window = read_window(op, std::move(input), kernel_of_weights(op, x, w));
  const std::size_t rank = window.rank();
  const Dims extra = window_list(op, "output_padding", rank, 0, 0);
  const Dims declared = declared_output(op, rank);
  const AutoPad auto_pad = auto_pad_of(op);
  const bool same = auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!declared.empty()) window.output[i] = declared[i];
    if (!is_known(window, i)) continue;
    const std::int64_t whole = (window.input[i] - 1) * window.strides[i] + window.extent(i) + extra[i];
    if (declared.empty() && same) window.output[i] = window.input[i] * window.strides[i];
    if (declared.empty() && !same) {
      window.output[i] = whole - window.pads_begin[i] - window.pads_end[i];
    } else {
      split_padding(window, i, whole - window.output[i], auto_pad == AutoPad::SameUpper);
    }
    if (window.output[i] < 0) throw Error("pads leave {} elements on spatial axis {}", window.output[i], i);
    check_reach(window, i, whole);
  }
  return window;
}

Window pool_window(const TypedOp& op, const Dims& x) {
  const auto& kernel = op.get<IntList>("kernel_shape");
  check_entries("kernel_shape", kernel, 1);
  Window window = read_window(op, spatial_dims(x), kernel);
  const auto* ceil_mode = op.get_if<std::int64_t>("ceil_mode");
  find_output(window, auto_pad_of(op), ceil_mode != nullptr && *ceil_mode != 0);
  return window;
}

Window given_window(const TypedOp& op, Dims input, Dims output) {
  const std::size_t rank = input.size();
  Window window = read_window(op, std::move(input), op.get<IntList>("kernel_shape"));
  IR_CHECK(output.size() == rank, "{} axes and {}", rank, output.size());
  window.output = std::move(output);
  return window;
}

Dims covering_pads(const Window& window) {
  Dims pads = window.pads_begin;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t end = (window.output[i] - 1) * window.strides[i] + window.extent(i);
    pads.push_back(std::max(window.pads_end[i], end - window.input[i] - window.pads_begin[i]));
  }
  return pads;
}

std::vector<Attribute> window_attributes(const Window& window) {
  IntList pads = window.pads_begin;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const std::int64_t end = (window.output[i] - 1) * window.strides[i] + window.extent(i);
    pads.push_back(std::max<std::int64_t>(end - window.pads_begin[i] - window.input[i], 0));
  }
  return {{"kernel_shape", window.kernel},
          {"strides", window.strides},
          {"dilations", window.dilations},
          {"pads", std::move(pads)}};
}

std::vector<std::int64_t> seen_counts(const Window& window, std::size_t axis, bool with_padding) {
  std::vector<std::int64_t> counts;
  const std::int64_t least = with_padding ? -window.pads_begin[axis] : 0;
  const std::int64_t limit = window.input[axis] + (with_padding ? window.pads_end[axis] : 0);
  for (std::int64_t o = 0; o < window.output[axis]; ++o) {
    const std::int64_t first = o * window.strides[axis] - window.pads_begin[axis];
    // The elements of the kernel that lie before a place.
    const auto before = [&](std::int64_t place) {
      const std::int64_t dilation = window.dilations[axis];
      return std::clamp<std::int64_t>(-floor_divide(first - place, dilation), 0, window.kernel[axis]);
    };
    counts.push_back(std::max<std::int64_t>(before(limit) - before(least), 0));
  }
  return counts;
}

Dims unpooled_dims(const TypedOp& op, const Dims& x) {
  const IntList& kernel = op.get<IntList>("kernel_shape");
  check_entries("kernel_shape", kernel, 1);
  const Window window = read_window(op, spatial_dims(x), kernel);
  Dims dims = x;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    if (x[i + 2] == kUnknown) continue;
    dims[i + 2] =
        (x[i + 2] - 1) * window.strides[i] - window.pads_begin[i] - window.pads_end[i] + window.kernel[i];
    if (dims[i + 2] < 0) throw Error("pads leave {} elements on spatial axis {}", dims[i + 2], i);
  }
  return dims;
}

Dims windowed_dims(std::int64_t batch, std::int64_t channels, const Window& window) {
  Dims dims{batch, channels};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return dims;
}

}  // namespace podium::ir
