#include "annotate/cut_cost.h"

#include <set>

namespace podium::annotate {

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
