#include "ir/ops/slide.h"

#include <algorithm>

#include "ir/ops/window.h"

namespace podium::ir {
namespace {

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

Dims spatial(const Type& type) { return {type.dims.begin() + 2, type.dims.end()}; }

bool is_pool(const Op& op) { return op.is("MaxPool") || op.is("AveragePool") || op.is("LpPool"); }

// The window of the op, from elements to windows.
std::optional<Window> window_of(const TypedOp& typed) {
  const Op& op = typed.op;
  if (op.is("Conv") || op.is("ConvInteger")) return conv_window(typed, typed.dims(0), typed.dims(1));
  constexpr std::size_t kQuantizedWeights = 3;
  if (op.is("QLinearConv")) return conv_window(typed, typed.dims(0), typed.dims(kQuantizedWeights));
  if (op.is("ConvTranspose")) {
    Window window = conv_transpose_window(typed, typed.dims(0), typed.dims(1));
    std::swap(window.input, window.output);
    return window;
  }
  if (is_pool(op)) return pool_window(typed, typed.dims(0));
  if (op.is("ConvWeightGradient", "podium") || op.is("MaxPoolGradient", "podium"))
    return given_window(typed, spatial(typed.input(0)), spatial(typed.input(1)));
  if (op.is("SumPoolGradient", "podium"))
    return given_window(typed, spatial(typed.output(0)), spatial(typed.input(0)));
  return std::nullopt;
}

bool rounds_up(const Op& op) {
  const auto* mode = attribute_if<std::int64_t>(op, "ceil_mode");
  return mode != nullptr && *mode != 0;
}

}  // namespace

IndexRange Slide::seen_by(const IndexRange& some) const {
  const std::int64_t first = std::clamp<std::int64_t>(some.begin * stride - before, 0, elements);
  const std::int64_t end = (some.end - 1) * stride - before + extent;
  return {first, std::clamp(end, first, elements)};
}

IndexRange Slide::windows_over(const IndexRange& some) const {
  const std::int64_t reach = std::min<std::int64_t>(0, stride - extent);
  const std::int64_t last = std::clamp<std::int64_t>(floor_of(some.end - 1 + before, stride), 0, windows - 1);
  return {std::clamp<std::int64_t>(floor_of(some.begin + before + reach, stride), 0, last), last + 1};
}

std::vector<Slide> slides_of(const TypedOp& op) {
  const auto window = window_of(op);
  if (!window) return {};
  std::vector<Slide> slides;
  for (std::size_t axis = 0; axis < window->rank(); ++axis) {
    slides.push_back({.stride = window->strides[axis],
                      .extent = window->extent(axis),
                      .before = window->pads_begin[axis],
                      .behind = rounds_up(op.op) ? std::optional(window->pads_end[axis]) : std::nullopt,
                      .elements = window->input[axis],
                      .windows = window->output[axis]});
  }
  return slides;
}

void fit_slides(Op& op, const std::vector<Slide>& slides, const std::vector<PartOfSlide>& parts) {
  IntList begins;
  IntList ends;
  IntList beyond;  // elements behind all that windows see
  IntList sizes;
  for (std::size_t i = 0; i < slides.size(); ++i) {
    const Slide& slide = slides[i];
    const auto& [elements, windows] = parts[i];
    begins.push_back(elements.begin - (windows.begin * slide.stride - slide.before));
    const std::int64_t end = (windows.end - 1) * slide.stride - slide.before + slide.extent - elements.end;
    const std::int64_t padding = std::max<std::int64_t>(end, 0);
    ends.push_back(slide.behind ? std::min(padding, *slide.behind) : padding);
    beyond.push_back(std::max<std::int64_t>(-end, 0));
    sizes.push_back(elements.end - elements.begin);
  }
  IntList pads = std::move(begins);
  pads.insert(pads.end(), ends.begin(), ends.end());
  const auto* automatic = attribute_if<std::string>(op, "auto_pad");
  if (automatic != nullptr && *automatic != "NOTSET") {
    set_attribute(op, "auto_pad", std::string("NOTSET"));
    if (is_pool(op)) set_attribute(op, "ceil_mode", std::int64_t{0});
  }
  set_attribute(op, "pads", std::move(pads));
  if (op.is("ConvTranspose")) {
    remove_attribute(op, "output_shape");
    set_attribute(op, "output_padding", std::move(beyond));
  }
  if (op.is("SumPoolGradient", "podium")) set_attribute(op, "input_shape", std::move(sizes));
}

}  // namespace podium::ir
