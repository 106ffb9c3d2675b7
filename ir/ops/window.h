// The geometry of a window that slides over spatial axes: convolutions and pools, on paper and in kernels.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// Per spatial axis. Sizes that are not known yet are kUnknown.
struct Window {
  Dims input = {};
  Dims kernel = {};
  Dims strides = {};
  Dims dilations = {};
  Dims pads_begin = {};
  Dims pads_end = {};
  Dims output = {};

  std::size_t rank() const { return kernel.size(); }
  /// Elements of the padded input from the first to the last that one window sees.
  std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

/// One element of a window along one axis: outputs [begin, end) see input o * stride + shift there, the
/// others see padding.
struct Tap {
  std::int64_t shift = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The taps of one axis, first to last, of a window whose sizes are all known.
std::vector<Tap> taps_of(const Window& window, std::size_t axis);

/// The window of Conv and its relatives: X is [N, C, spatial...], W is [M, C/group, kernel...].
Window conv_window(const TypedOp& op, const Dims& x, const Dims& w);
/// The window of ConvTranspose: `input` is X's spatial shape, `output` the larger one of Y.
Window conv_transpose_window(const TypedOp& op, const Dims& x, const Dims& w);
/// The window of a pool, with its ceil_mode.
Window pool_window(const TypedOp& op, const Dims& x);

/// The window of an op that a gradient builder makes: attributes give everything but the sizes of both sides.
Window given_window(const TypedOp& op, Dims input, Dims output);
/// Attributes that describe a window to any op, private ones too: kernel_shape, strides, dilations and pads.
/// The padding at the end is what the last window needs, so that an op with these attributes has `output`
/// windows; no padding is negative.
std::vector<Attribute> window_attributes(const Window& window);
/// The padding at all begins, then that at all ends. Each end reaches as far as the last window does, which
/// may be further than asked for when ceil_mode has added the window.
Dims covering_pads(const Window& window);
/// For each output of one axis, the number of elements that its window covers inside the input, or inside the
/// padded input.
std::vector<std::int64_t> seen_counts(const Window& window, std::size_t axis, bool with_padding);

/// The shape that the input of MaxUnpool's pool had, as far as the attributes tell.
Dims unpooled_dims(const TypedOp& op, const Dims& x);

/// [N, channels, window.output...]
Dims windowed_dims(std::int64_t batch, std::int64_t channels, const Window& window);

/// The attribute's list, or `size` times `fallback`; Error when it has another length or a value below
/// `least`.
Dims window_list(const TypedOp& op, std::string_view name, std::size_t size, std::int64_t fallback,
                 std::int64_t least);

}  // namespace podium::ir
