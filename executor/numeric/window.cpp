#include "executor/numeric/window.h"

#include <algorithm>

namespace podium::numeric {
namespace {

ir::Dims list_or_ones(const ir::Op& op, std::string_view name, std::size_t rank) {
  const auto* list = ir::attribute_if<ir::IntList>(op, name);
  return list == nullptr || list->empty() ? ir::Dims(rank, 1) : *list;
}

}  // namespace

Window window_of(const ir::Op& op, const ir::Dims& kernel, const ir::Dims& x, const ir::Dims& y) {
  const std::size_t rank = kernel.size();
  Window window{.kernel = kernel,
                .strides = list_or_ones(op, "strides", rank),
                .pads = ir::Dims(2 * rank, 0),
                .dilations = list_or_ones(op, "dilations", rank)};
  const auto* auto_pad = ir::attribute_if<std::string>(op, "auto_pad");
  const auto* pads = ir::attribute_if<ir::IntList>(op, "pads");
  const bool same = auto_pad != nullptr && auto_pad->starts_with("SAME");
  const bool is_explicit = auto_pad == nullptr || *auto_pad == "NOTSET" || auto_pad->empty();
  if (is_explicit && pads != nullptr && !pads->empty()) window.pads = *pads;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    // The padding that makes the last window end where the input ends.
    const std::int64_t all = (y[i + 2] - 1) * window.strides[i] + reach - x[i + 2];
    if (same) {
      const std::int64_t total = std::max<std::int64_t>(all, 0);
      window.pads[i] = *auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
      window.pads[i + rank] = total - window.pads[i];
    } else {
      // Rounding up starts a window that the given padding does not fill.
      window.pads[i + rank] = std::max(window.pads[i + rank], all - window.pads[i]);
    }
  }
  return window;
}

}  // namespace podium::numeric
