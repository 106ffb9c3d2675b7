#include "ir/ops/movement.h"

#include <algorithm>
#include <numeric>

namespace podium::ir {

std::int64_t known_count(const Dims& dims, std::size_t begin, std::size_t end) {
  Dims part(dims.begin() + begin, dims.begin() + end);
  if (std::find(part.begin(), part.end(), 0) != part.end()) return 0;
  if (std::find(part.begin(), part.end(), kUnknown) != part.end()) return kUnknown;
  return element_count(part);
}

std::optional<std::int64_t> list_length(const InferContext& context, std::size_t i) {
  if (const Tensor* known = context.constant(i)) return known->size();
  if (!context.has_rank(i)) return std::nullopt;
  const std::int64_t count = known_count(context.dims(i));
  return count == kUnknown ? std::nullopt : std::optional(count);
}

void set_output_rank(InferContext& context, std::size_t i, DataType element,
                     std::optional<std::int64_t> rank) {
  constexpr std::int64_t kMostAxes = 1024;
  if (!rank) return context.set_output_element(i, element);
  if (*rank < 0 || *rank > kMostAxes) throw Error("{} axes found, 0 to {} needed", *rank, kMostAxes);
  context.set_output(i, element, Dims(*rank, kUnknown));
}

std::optional<Dims> known_list(const InferContext& context, std::size_t i) {
  const Tensor* known = context.constant(i);
  // What a list without elements holds is known before the run.
  if (known == nullptr && list_length(context, i) == 0) return Dims{};
  if (known == nullptr) return std::nullopt;
  if (known->rank() > 1) {
    throw Error("input '{}' has shape {}, a list needed", context.op.spec->inputs[i].name,
                to_string(known->dims()));
  }
  return known->to_ints();
}

Dims distinct_axes(Dims axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank);
  Dims sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw Error("axis {} is given twice", *twice);
  return axes;
}

Dims all_axes(std::int64_t rank) {
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Dims merged(const Dims& a, const Dims& b, std::string_view what) {
  Dims result = a;
  bool fits = a.size() == b.size();
  for (std::size_t i = 0; fits && i < a.size(); ++i) {
    if (a[i] == kUnknown) result[i] = b[i];
    fits = a[i] == kUnknown || b[i] == kUnknown || a[i] == b[i];
  }
  if (!fits) throw Error("{}: shapes {} and {} differ", what, to_string(a), to_string(b));
  return result;
}

}  // namespace podium::ir
