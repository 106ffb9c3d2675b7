// An operand's boxes are read as iterations of the loop along each axis that is cut. A loop may be cut once,
// and no two loops of an axis; then every combination of the iterations of different loops has to be some
// device's.
//
// Where windows slide, the iterations are those of one side, outputs of a convolution:
//   11 elements over 3   0 1 2 3 | 4 5 6 7 | 8 9 10     4 4 3, as a spec cuts the input
//   6 windows of 3       0 1     | 2 3     | 4 5        2 2 2, since there are three parts
//   they see             0 1 2 3 | 3 .. 7  | 7 .. 10    the own part and its halo, clipped at the edge
#include "annotate/op_cut.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace podium::annotate {
namespace {

using ir::Loop;
using ir::LoopAxis;
using ir::LoopResult;
using ir::Reach;

// What one range of iterations reaches where windows slide.
IndexRange reached(const ir::Slide& slide, Reach reach, const IndexRange& own) {
  if (reach == Reach::Own) return own;
  if (reach == Reach::Seen) return slide.seen_by(own);
  const IndexRange windows = slide.windows_over(own);
  if (reach == Reach::Over) return windows;
  const IndexRange seen = slide.seen_by(windows);
  return {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
}

// The indices of an axis that some of a loop's iterations have.
Ranges ranges_of(const Loop& loop, const LoopAxis& at, const Ranges& iterations, std::int64_t dim) {
  Ranges ranges;
  if (loop.slide) {
    if (iterations.empty()) return ranges;
    const IndexRange some = reached(*loop.slide, at.reach, iterations.front());
    append(ranges, {some.begin * at.inner, some.end * at.inner});
    return ranges;
  }
  const std::int64_t block = loop.extent * at.inner;
  for (std::int64_t start = 0; start < dim; start += block) {
    for (const IndexRange& one : iterations)
      append(ranges, {start + one.begin * at.inner, start + one.end * at.inner});
  }
  return ranges;
}

// The iterations of which `ranges` are the indices, read from the first block; nothing where there are none.
std::optional<Ranges> iterations_of(const Loop& loop, const LoopAxis& at, const Ranges& ranges,
                                    std::int64_t dim) {
  if (loop.slide && ranges.size() > 1) return std::nullopt;
  const std::int64_t block = loop.extent * at.inner;
  Ranges iterations;
  for (const IndexRange& range : ranges) {
    const IndexRange own{range.begin, std::min(range.end, block)};
    if (own.begin >= own.end) break;
    if (own.begin % at.inner != 0 || own.end % at.inner != 0) return std::nullopt;
    append(iterations, {own.begin / at.inner, own.end / at.inner});
  }
  return ranges_of(loop, at, iterations, dim) == ranges ? std::optional(iterations) : std::nullopt;
}

const std::vector<LoopAxis>& operands(const Loop& loop, Side side) {
  return side == Side::Input ? loop.inputs : loop.outputs;
}

// Another loop that is cut has an axis of the same operand.
bool clashes(const OpCut& cut, std::size_t with) {
  const auto share = [](const std::vector<LoopAxis>& a, const std::vector<LoopAxis>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].axis != ir::kNoAxis && a[i].axis == b[i].axis) return true;
    }
    return false;
  };
  for (std::size_t other = 0; other < cut.loops.size(); ++other) {
    if (other == with || cut.ranges[other].empty()) continue;
    if (share(cut.loops[with].inputs, cut.loops[other].inputs) ||
        share(cut.loops[with].outputs, cut.loops[other].outputs))
      return true;
  }
  return false;
}

// Iterations for an operand whose parts more than one of them reaches: the same indices where there are as
// many, else shares of one length. Nothing where the parts overlap or have gaps.
std::optional<std::vector<Ranges>> shares_of(const Loop& loop, std::size_t axis, const Boxes& boxes,
                                             std::int64_t dim) {
  std::vector<IndexRange> parts;
  for (const auto& box : boxes) {
    if (!box) continue;
    if ((*box)[axis].size() != 1) return std::nullopt;
    parts.push_back((*box)[axis].front());
  }
  std::ranges::sort(parts, {}, &IndexRange::begin);
  parts.erase(std::ranges::unique(parts).begin(), parts.end());
  std::int64_t next = 0;
  for (const IndexRange& part : parts) {
    if (part.begin != next) return std::nullopt;
    next = part.end;
  }
  if (next != dim) return std::nullopt;
  const std::int64_t count = std::ssize(parts);
  const std::int64_t each = (loop.extent + count - 1) / count;
  std::vector<Ranges> ranges(boxes.size());
  for (std::size_t device = 0; device < boxes.size(); ++device) {
    if (!boxes[device]) continue;
    const IndexRange& own = (*boxes[device])[axis].front();
    const std::int64_t part = std::ranges::find(parts, own) - parts.begin();
    if (loop.extent == dim) {
      append(ranges[device], own);
    } else {
      append(ranges[device], {std::min(loop.extent, part * each), std::min(loop.extent, (part + 1) * each)});
    }
  }
  return ranges;
}

// The loop along this axis of an operand whose iterations the boxes are, and these.
std::optional<std::pair<std::size_t, std::vector<Ranges>>> loop_along(const OpCut& cut, Side side,
                                                                      std::size_t place, std::size_t axis,
                                                                      const Boxes& boxes, std::int64_t dim) {
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const LoopAxis& at = operands(cut.loops[l], side)[place];
    if (at.axis != static_cast<int>(axis)) continue;
    if (at.reach != Reach::Own) {
      auto shares = shares_of(cut.loops[l], axis, boxes, dim);
      if (shares) return std::pair(l, std::move(*shares));
      continue;
    }
    std::vector<Ranges> ranges(boxes.size());
    bool fits = true;
    for (std::size_t device = 0; device < boxes.size() && fits; ++device) {
      if (!boxes[device]) continue;
      auto own = iterations_of(cut.loops[l], at, (*boxes[device])[axis], dim);
      fits = own.has_value();
      if (own) ranges[device] = std::move(*own);
    }
    if (fits) return std::pair(l, std::move(ranges));
  }
  return std::nullopt;
}

// Every part has something of each operand along which its windows slide: no part sees padding alone.
bool has_operands(const OpCut& cut, std::size_t loop, std::int64_t device) {
  const Loop& of = cut.loops[loop];
  const auto has = [&](const LoopAxis& at) {
    return at.reach == Reach::Own || !ranges_of(of, at, cut.ranges[loop][device], 0).empty();
  };
  return !of.slide || (std::ranges::all_of(of.inputs, has) && std::ranges::all_of(of.outputs, has));
}

// Every combination of iterations is some device's, and those of one loop are the same or apart.
bool covers(const OpCut& cut) {
  std::int64_t all = 1;
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    if (cut.ranges[l].empty()) continue;
    std::set<Ranges> parts;
    for (int device = 0; device < cut.devices(); ++device) {
      if (cut.computes[device]) parts.insert(cut.ranges[l][device]);
    }
    Ranges joined;
    for (const Ranges& own : parts) joined.insert(joined.end(), own.begin(), own.end());
    std::ranges::sort(joined, {}, &IndexRange::begin);
    std::int64_t next = 0;
    for (const IndexRange& range : joined) {
      if (range.begin != next) return false;
      next = range.end;
    }
    if (next != cut.loops[l].extent) return false;
    all *= std::ssize(parts);
  }
  const std::vector<std::vector<int>> of_devices = combinations(cut);
  std::set<std::vector<int>> different;
  for (int device = 0; device < cut.devices(); ++device) {
    if (cut.computes[device]) different.insert(of_devices[device]);
  }
  return std::ssize(different) == all;
}

}  // namespace

bool is_view(const ir::Op& op) {
  constexpr std::string_view kViews[] = {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return op.spec->domain.empty() && std::ranges::find(kViews, op.spec->name) != std::end(kViews);
}

bool OpCut::is_cut() const {
  return std::ranges::any_of(ranges, [](const auto& of_loop) { return !of_loop.empty(); });
}

Pieces OpCut::pieces() const {
  Pieces pieces = Pieces::Parts;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    if (ranges[l].empty() || loops[l].result == LoopResult::Apart) continue;
    pieces = loops[l].result == LoopResult::Largest ? Pieces::Rivals : Pieces::Summands;
  }
  return pieces;
}

std::vector<std::vector<int>> combinations(const OpCut& cut) {
  std::vector<std::vector<int>> firsts(cut.devices());
  for (const std::vector<Ranges>& of_loop : cut.ranges) {
    if (of_loop.empty()) continue;
    std::map<Ranges, int> first_with;
    for (int device = 0; device < cut.devices(); ++device) {
      if (cut.computes[device])
        firsts[device].push_back(first_with.emplace(of_loop[device], device).first->second);
    }
  }
  return firsts;
}

namespace {

// The ranges of both, where they have nothing in common.
std::optional<Ranges> joined(const Ranges& a, const Ranges& b) {
  Ranges all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all, {}, &IndexRange::begin);
  Ranges merged;
  for (const IndexRange& one : all) {
    if (!merged.empty() && one.begin < merged.back().end) return std::nullopt;
    append(merged, one);
  }
  return merged;
}

// Of boxes that differ along one axis.
std::optional<Box> joined(const Box& a, const Box& b) {
  Box all = a;
  int differ = 0;
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] == b[axis]) continue;
    auto ranges = joined(a[axis], b[axis]);
    if (!ranges || ++differ > 1) return std::nullopt;
    all[axis] = *std::move(ranges);
  }
  return differ == 1 ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace

std::optional<Boxes> boxes_of_sets(const OpCut& cut, const Boxes& boxes) {
  std::map<std::vector<int>, std::size_t> copies;  // so far, of each kind
  std::vector<std::optional<Box>> of_set;
  std::vector<std::size_t> set_of_device;
  for (const std::vector<int>& kind : combinations(cut)) {
    const std::size_t device = set_of_device.size();
    if (kind.empty() || !boxes[device]) return std::nullopt;
    const std::size_t set = copies[kind]++;
    set_of_device.push_back(set);
    if (set == of_set.size()) {
      of_set.push_back(boxes[device]);
    } else {
      of_set[set] = joined(*of_set[set], *boxes[device]);
      if (!of_set[set]) return std::nullopt;
    }
  }
  const bool are_even =
      std::ranges::all_of(copies, [&](const auto& one) { return one.second == of_set.size(); });
  if (of_set.size() < 2 || copies.size() < 2 || !are_even) return std::nullopt;
  Boxes all;
  for (std::size_t set : set_of_device) all.push_back(of_set[set]);
  return all;
}

Followed follow(OpCut& cut, Side side, std::size_t place, const ir::Dims& dims, const Boxes& boxes) {
  OpCut next = cut;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Ranges all{{0, dims[axis]}};
    const bool is_whole =
        std::ranges::all_of(boxes, [&](const auto& box) { return !box || (*box)[axis] == all; });
    if (is_whole) continue;
    auto found = loop_along(next, side, place, axis, boxes, dims[axis]);
    if (!found) return Followed::NoLoop;
    auto& [loop, ranges] = *found;
    if (next.ranges[loop].empty()) {
      if (clashes(next, loop)) return Followed::NoLoop;
      next.ranges[loop] = std::move(ranges);
    } else if (operands(next.loops[loop], side)[place].reach == Reach::Own) {
      for (int device = 0; device < cut.devices(); ++device) {
        if (next.ranges[loop][device] != ranges[device] && boxes[device] && next.computes[device])
          return Followed::Uncovered;
      }
    }
  }
  if (!next.is_cut()) return Followed::Yes;
  for (int device = 0; device < cut.devices(); ++device) {
    if (!boxes[device]) next.computes[device] = false;
    for (std::size_t l = 0; l < next.loops.size(); ++l) {
      if (next.ranges[l].empty()) continue;
      if (next.ranges[l][device].empty()) next.computes[device] = false;
      if (next.computes[device] && !has_operands(next, l, device)) return Followed::NoLoop;
    }
  }
  if (!covers(next)) return Followed::Uncovered;
  cut = std::move(next);
  return Followed::Yes;
}

Box box_for(const OpCut& cut, Side side, std::size_t place, const ir::Dims& dims, int device) {
  Box box = whole_box(dims);
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    if (cut.ranges[l].empty()) continue;
    const LoopAxis& at = operands(cut.loops[l], side)[place];
    if (at.axis != ir::kNoAxis)
      box[at.axis] = ranges_of(cut.loops[l], at, cut.ranges[l][device], dims[at.axis]);
  }
  return box;
}

Box kept_box(const OpCut& cut, std::size_t output, const ir::Dims& dims, int device) {
  Box box = box_for(cut, Side::Output, output, dims, device);
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const LoopAxis& at = cut.loops[l].outputs[output];
    if (cut.ranges[l].empty() || at.axis == ir::kNoAxis || at.reach == Reach::Own) continue;
    box[at.axis].clear();
    for (const IndexRange& own : cut.ranges[l][device])
      append(box[at.axis], {own.begin * at.inner, own.end * at.inner});
  }
  return box;
}

std::vector<ir::PartOfSlide> parts_of_slides(const OpCut& cut, const std::vector<ir::Slide>& slides,
                                             int device) {
  std::vector<ir::PartOfSlide> parts;
  for (const ir::Slide& slide : slides) parts.push_back({{0, slide.elements}, {0, slide.windows}});
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const Loop& loop = cut.loops[l];
    if (!loop.slide || cut.ranges[l].empty()) continue;
    const LoopAxis& first = loop.inputs[0];
    const IndexRange& own = cut.ranges[l][device].front();
    constexpr int kFirstSpatial = 2;
    parts[first.axis - kFirstSpatial] = {
        first.reach == Reach::Over ? own : reached(*loop.slide, first.reach, own),
        first.reach == Reach::Seen ? own : reached(*loop.slide, Reach::Over, own)};
  }
  return parts;
}

}  // namespace podium::annotate
