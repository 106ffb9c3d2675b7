// An operand's boxes are read as iterations of the loop along each axis that is cut. A loop may be cut once,
// and no two loops of an axis; then every combination of the iterations of different loops has to be some
// device's.
#include "annotate/op_cut.h"

#include <algorithm>
#include <set>

namespace podium::annotate {
namespace {

using ir::Loop;
using ir::LoopAxis;
using ir::LoopResult;

// The indices of an axis that some of a loop's iterations have.
Ranges ranges_of(const Loop& loop, const LoopAxis& at, const Ranges& iterations, std::int64_t dim) {
  Ranges ranges;
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

// The loop along this axis of an operand whose iterations the boxes are, and these.
std::optional<std::pair<std::size_t, std::vector<Ranges>>> loop_along(const OpCut& cut, Side side,
                                                                      std::size_t place, std::size_t axis,
                                                                      const Boxes& boxes, std::int64_t dim) {
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    const LoopAxis& at = operands(cut.loops[l], side)[place];
    if (at.axis != static_cast<int>(axis)) continue;
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

// The first device that has the same iterations of a loop.
int first_with(const OpCut& cut, std::size_t loop, int device) {
  for (int other = 0; other < device; ++other) {
    if (cut.computes[other] && cut.ranges[loop][other] == cut.ranges[loop][device]) return other;
  }
  return device;
}
// Every combination of iterations is some device's, and those of one loop are the same or apart.
bool covers(const OpCut& cut) {
  std::int64_t all = 1;
  for (std::size_t l = 0; l < cut.loops.size(); ++l) {
    if (cut.ranges[l].empty()) continue;
    Ranges joined;
    std::int64_t parts = 0;
    for (int device = 0; device < cut.devices(); ++device) {
      if (!cut.computes[device] || first_with(cut, l, device) != device) continue;
      const Ranges& own = cut.ranges[l][device];
      joined.insert(joined.end(), own.begin(), own.end());
      ++parts;
    }
    std::ranges::sort(joined, {}, &IndexRange::begin);
    std::int64_t next = 0;
    for (const IndexRange& range : joined) {
      if (range.begin != next) return false;
      next = range.end;
    }
    if (next != cut.loops[l].extent) return false;
    all *= parts;
  }
  std::set<std::vector<int>> combinations;
  for (int device = 0; device < cut.devices(); ++device) {
    if (cut.computes[device]) combinations.insert(combination(cut, device));
  }
  return std::ssize(combinations) == all;
}

}  // namespace

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

std::vector<int> combination(const OpCut& cut, int device) {
  std::vector<int> firsts;
  for (std::size_t l = 0; l < cut.ranges.size(); ++l) {
    if (!cut.ranges[l].empty()) firsts.push_back(first_with(cut, l, device));
  }
  return firsts;
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
    } else {
      for (int device = 0; device < cut.devices(); ++device) {
        if (next.ranges[loop][device] != ranges[device] && boxes[device] && next.computes[device])
          return Followed::Uncovered;
      }
    }
  }
  if (!next.is_cut()) return Followed::Yes;
  for (int device = 0; device < cut.devices(); ++device) {
    if (!boxes[device]) next.computes[device] = false;
    for (const auto& ranges : next.ranges) {
      if (!ranges.empty() && ranges[device].empty()) next.computes[device] = false;
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

}  // namespace podium::annotate
