#include "ir/ops/pad.h"

#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {

std::vector<AxisPads> pads_of(const Dims& pads, const Dims& axes, std::int64_t rank) {
  if (pads.size() != 2 * axes.size()) throw Error("{} pads found, {} needed", pads.size(), 2 * axes.size());
  const Dims where = distinct_axes(axes, rank);
  std::vector<AxisPads> result(rank);
  for (std::size_t i = 0; i < where.size(); ++i) {
    result[where[i]] = {pads[i], pads[i + where.size()]};
  }
  return result;
}

namespace {

std::int64_t modulo(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

std::int64_t padded_dim(std::int64_t dim, AxisPads pads) {
  if (dim == kUnknown) return pads.begin == 0 && pads.end == 0 ? dim : kUnknown;
  std::int64_t result = 0;
  if (__builtin_add_overflow(dim, pads.begin, &result) || __builtin_add_overflow(result, pads.end, &result) ||
      result < 0) {
    throw Error("pads {} and {} of a dimension of {} leave no valid dimension", pads.begin, pads.end, dim);
  }
  return result;
}

// The index within `size` kept elements that is shown at `at`, which may lie outside.
std::int64_t shown_index(std::int64_t at, std::int64_t size, std::string_view mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "wrap") return modulo(at, size);
  if (size == 1) return 0;
  const std::int64_t phase = modulo(at, 2 * (size - 1));
  return phase < size ? phase : 2 * (size - 1) - phase;
}

}  // namespace

Dims pad_map(std::int64_t dim, AxisPads pads, std::string_view mode) {
  const std::int64_t wanted = padded_dim(dim, pads);
  const std::int64_t first = std::max<std::int64_t>(-pads.begin, 0);
  const std::int64_t kept = std::max<std::int64_t>(dim - first - std::max<std::int64_t>(-pads.end, 0), 0);
  const std::int64_t shift = std::max<std::int64_t>(pads.begin, 0);
  if (mode != "constant" && kept == 0 && wanted > 0) throw Error("mode '{}' has no element to repeat", mode);
  Dims map(wanted);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t at = i - shift;
    const bool outside = at < 0 || at >= kept;
    map[i] = outside && mode == "constant" ? -1 : first + shown_index(at, kept, mode);
  }
  return map;
}

namespace {

void infer_pad(InferContext& context) {
  const std::string& mode = context.get_string("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    throw Error("mode is '{}', constant, reflect, edge or wrap needed", mode);
  }
  if (context.has_input(2) && context.has_rank(2) && known_count(context.dims(2)) > 1) {
    throw Error("constant_value is {}, one number needed", to_string(context.input(2)));
  }
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const auto pads = known_list(context, 1);
  const auto axes = context.has_input(3) ? known_list(context, 3) : all_axes(rank);
  if (pads && axes) {
    const std::vector<AxisPads> by_axis = pads_of(*pads, *axes, rank);
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = padded_dim(dims[i], by_axis[i]);
  } else if (axes) {
    for (std::int64_t axis : distinct_axes(*axes, rank)) dims[axis] = kUnknown;
  } else {
    std::fill(dims.begin(), dims.end(), kUnknown);
  }
  context.set_output(0, context.element(0), std::move(dims));
}

bool pads_nothing(const TypedOp& op) { return keeps_first_shape(op) && all_equal(op, 1, 0); }

}  // namespace

std::span<const OpSpec> pad_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .samples = keeps_whole_axis},
             {
                 {.name = "Pad",
                  .since = 25,
                  .inputs = {{"data"},
                             {"pads", 'P'},
                             {"constant_value", 'T', Formal::Optional},
                             {"axes", 'I', Formal::Optional}},
                  .outputs = {{"output"}},
                  .types = {{'T', kAnyType}, {'P', kInt64}, {'I', kIndices}},
                  .attributes = {with_default("mode", std::string("constant"))},
                  .infer = infer_pad,
                  .work = work_of_moving,
                  .hands_on = pads_nothing},
             });
  return kRows;
}

}  // namespace podium::ir
