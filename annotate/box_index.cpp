// The boxes are sorted by where they begin along the axis that tells them apart best. Those that may meet a
// box begin before its end; going back from there ends at the first before which no box reaches so far.
#include "annotate/box_index.h"

#include <algorithm>
#include <set>
#include <utility>

namespace podium::annotate {

BoxIndex::BoxIndex(Boxes boxes) : boxes_(std::move(boxes)) {
  std::vector<std::set<std::int64_t>> begins;  // by axis
  for (const auto& box : boxes_) {
    if (!box) continue;
    begins.resize(box->size());
    for (std::size_t axis = 0; axis < box->size(); ++axis) {
      if (!(*box)[axis].empty()) begins[axis].insert((*box)[axis].front().begin);
    }
  }
  if (!begins.empty())
    axis_ = std::ranges::max_element(begins, {}, &std::set<std::int64_t>::size) - begins.begin();
  for (std::size_t device = 0; device < boxes_.size(); ++device) {
    const auto span = boxes_[device] ? span_of(*boxes_[device]) : std::nullopt;
    if (span) spans_.push_back({*span, span->end, static_cast<int>(device)});
  }
  std::ranges::stable_sort(spans_, {}, [](const Span& span) { return span.indices.begin; });
  for (std::size_t i = 1; i < spans_.size(); ++i)
    spans_[i].furthest = std::max(spans_[i].furthest, spans_[i - 1].furthest);
}

// Nothing of a box without elements along the axis. A scalar has one element and no axis.
std::optional<IndexRange> BoxIndex::span_of(const Box& box) const {
  if (box.empty()) return IndexRange{0, 1};
  if (box[axis_].empty()) return std::nullopt;
  return IndexRange{box[axis_].front().begin, box[axis_].back().end};
}

std::vector<int> BoxIndex::meeting(const Box& box) const {
  std::vector<int> found;
  const auto own = span_of(box);
  if (!own) return found;
  auto next =
      std::ranges::lower_bound(spans_, own->end, {}, [](const Span& span) { return span.indices.begin; });
  while (next != spans_.begin() && std::prev(next)->furthest > own->begin) {
    --next;
    if (meet(*boxes_[next->device], box)) found.push_back(next->device);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace podium::annotate
