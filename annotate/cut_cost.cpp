#include "annotate/cut_cost.h"

#include <algorithm>
#include <set>

namespace podium::annotate {
namespace {

std::int64_t common_indices(const Ranges& a, const Ranges& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    count += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    a[i].end < b[j].end ? ++i : ++j;
  }
  return count;
}

std::int64_t common_elements(const Box& a, const Box& b) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < a.size(); ++axis) count *= common_indices(a[axis], b[axis]);
  return count;
}

}  // namespace

std::int64_t elements_to_bring(const Boxes& wanted, const Boxes& held) {
  std::int64_t count = 0;
  for (std::size_t device = 0; device < wanted.size(); ++device) {
    if (!wanted[device]) continue;
    count += elements_of(*wanted[device]);
    if (device < held.size() && held[device]) count -= common_elements(*wanted[device], *held[device]);
  }
  return count;
}

std::int64_t elements_to_add_up(const Boxes& summands, std::int64_t elements) {
  return elements_to_bring(summands, {}) - elements;
}

bool shares_out(const Boxes& boxes, std::int64_t elements) {
  std::set<Box> different;
  std::int64_t count = 0;
  for (const auto& box : boxes) {
    if (!box || elements_of(*box) == 0 || !different.insert(*box).second) return false;
    count += elements_of(*box);
  }
  return count == elements;
}

}  // namespace podium::annotate
