// Cuts a row into parts in three steps, each over the same question: is there a cut within a limit of seconds
// and bytes (can_cut: greedy from the last part, each as long as it can be, since later parts hold fewer
// stashes)?
// 1. If no cut fits the memory, bisect the bytes to the least that one needs.
// 2. Bisect the seconds of the slowest part under that memory.
// 3. Of all cuts within both limits take the one with the fewest crossing bytes, by dynamic programming:
//    sent[part][end] = min over begin of sent[part - 1][begin] + crossing(begin), where [begin, end) fits.
//    Begins that fit form a window that only moves right (first_begins), so a monotone queue of the best
//    begins gives each minimum in constant time: O(items x parts). A deque in Window keeps its largest
//    activation.
#include "annotate/cuts.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "ir/error.h"

namespace podium::annotate {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct Limit {
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t bytes = kMost;
};

// The row of items, the number of parts, and the bytes that parts hold.
class Row {
 public:
  Row(const std::vector<Item>& of, std::size_t into, const std::vector<std::int64_t>& stash_depths)
      : items(of), parts(into), stash_depths_(stash_depths) {
    for (const Item& item : items) seconds_.push_back(seconds_.back() + item.seconds);
  }

  const std::vector<Item>& items;
  const std::size_t parts;

  /// Micro-batches whose stashes a part holds.
  std::int64_t depth(std::size_t part) const { return stash_depths_.empty() ? 1 : stash_depths_[part]; }
  /// The bytes that an item adds in front of a part that ends before `end`: what it shares with items of the
  /// part is there already, unless the item owns it.
  static std::int64_t held_in_front(const Item& item, std::int64_t depth, std::size_t end) {
    std::int64_t bytes = item.weight_bytes + depth * item.stash_bytes;
    for (const SharedTensor& tensor : item.shared) {
      if (tensor.before) bytes += tensor.bytes;
      if (tensor.behind && *tensor.behind < end) bytes -= tensor.bytes;
    }
    return bytes;
  }
  /// The bytes that an item adds behind a part that begins with item `begin`.
  static std::int64_t held_behind(const Item& item, std::int64_t depth, std::size_t begin) {
    std::int64_t bytes = item.weight_bytes + depth * item.stash_bytes;
    for (const SharedTensor& tensor : item.shared) {
      if (tensor.before && *tensor.before < begin) bytes += tensor.bytes;
    }
    return bytes;
  }
  /// Whether [begin, end) stays in the limit, with the bytes that its items hold and the largest activation.
  bool fits(std::size_t begin, std::size_t end, std::int64_t bytes, const Limit& limit) const {
    // Sums of other parts of the row differ by rounding only.
    constexpr double kRounding = 1 + 1e-9;
    return seconds_[end] - seconds_[begin] <= limit.seconds * kRounding && bytes <= limit.bytes;
  }

 private:
  const std::vector<std::int64_t>& stash_depths_;
  std::vector<double> seconds_{0};  // of all items before a place
};

// Items [begin, end) of the row and the bytes they need. The window grows at its end and shrinks at its
// beginning.
class Window {
 public:
  Window(const Row& row, std::int64_t depth) : row_(row), depth_(depth) {}

  void push() {
    while (!peaks_.empty() && row_.items[peaks_.back()].activation_bytes <= row_.items[end_].activation_bytes)
      peaks_.pop_back();
    peaks_.push_back(end_);
    held_ += Row::held_behind(row_.items[end_++], depth_, begin_);
  }
  void pop() {
    if (peaks_.front() == begin_) peaks_.pop_front();
    held_ -= Row::held_in_front(row_.items[begin_++], depth_, end_);
  }
  std::size_t begin() const { return begin_; }
  bool fits(const Limit& limit) const {
    if (begin_ == end_) return true;
    return row_.fits(begin_, end_, held_ + row_.items[peaks_.front()].activation_bytes, limit);
  }

 private:
  const Row& row_;
  std::int64_t depth_;
  std::deque<std::size_t> peaks_;  // places of activations that are larger than all after them
  std::int64_t held_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// For each place where a part of some depth can end, the first place where it can begin; kNone: it fits
// nowhere.
std::vector<std::size_t> first_begins(const Row& row, const Limit& limit, std::int64_t depth) {
  std::vector<std::size_t> begins(row.items.size() + 1, kNone);
  Window window(row, depth);
  for (std::size_t end = 1; end <= row.items.size(); ++end) {
    window.push();
    while (!window.fits(limit)) window.pop();
    if (window.begin() < end) begins[end] = window.begin();
  }
  return begins;
}

// Whether there is a cut in the limit: each part, from the last, taken as long as it can be.
bool can_cut(const Row& row, const Limit& limit) {
  std::size_t end = row.items.size();
  for (std::size_t part = row.parts; part-- > 0;) {
    std::size_t begin = end;
    std::int64_t held = 0;
    std::int64_t peak = 0;
    while (begin > part) {  // an item for each part before it
      const Item& item = row.items[begin - 1];
      held += Row::held_in_front(item, row.depth(part), end);
      peak = std::max(peak, item.activation_bytes);
      if (!row.fits(begin - 1, end, held + peak, limit)) break;
      --begin;
    }
    if (begin == end) return false;
    end = begin;
  }
  return end == 0;
}

std::int64_t least_bytes(const Row& row) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const Item& item : row.items) {
    high += Row::held_behind(item, row.depth(0), row.items.size()) + item.activation_bytes;
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (can_cut(row, {.bytes = middle})) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

double least_seconds(const Row& row, std::int64_t bytes) {
  double low = 0;
  double high = 0;
  for (const Item& item : row.items) {
    low = std::max(low, item.seconds);
    high += item.seconds;
  }
  if (can_cut(row, {low, bytes})) return low;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (can_cut(row, {middle, bytes}) ? high : low) = middle;
  }
  return high;
}

// A cut with the fewest crossing bytes, among those within the limit.
std::vector<std::size_t> cut_within(const Row& row, const Limit& limit) {
  const std::size_t places = row.items.size() + 1;
  std::vector<std::size_t> begins;
  std::int64_t depth = 0;                         // that they are for
  std::vector<std::int64_t> sent(places, kMost);  // least bytes with the parts so far, ending at a place
  sent[0] = 0;
  std::vector<std::vector<std::uint32_t>> begin_of(row.parts, std::vector<std::uint32_t>(places, 0));
  for (std::size_t part = 0; part < row.parts; ++part) {
    if (row.depth(part) != depth) {
      depth = row.depth(part);
      begins = first_begins(row, limit, depth);
    }
    const auto cost = [&](std::size_t begin) {
      return sent[begin] + (begin == 0 ? 0 : row.items[begin].crossing_bytes);
    };
    std::vector<std::int64_t> next(places, kMost);
    std::deque<std::size_t> best;  // begins whose cost is below that of all after them
    for (std::size_t end = 1; end < places; ++end) {
      if (sent[end - 1] != kMost) {
        while (!best.empty() && cost(best.back()) > cost(end - 1)) best.pop_back();
        best.push_back(end - 1);
      }
      while (!best.empty() && best.front() < begins[end]) best.pop_front();
      if (best.empty()) continue;
      next[end] = cost(best.front());
      begin_of[part][end] = best.front();
    }
    sent = std::move(next);
  }
  IR_CHECK(sent.back() != kMost, "{} items, {} parts", row.items.size(), row.parts);
  std::vector<std::size_t> firsts(row.parts);
  std::size_t end = row.items.size();
  for (std::size_t part = row.parts; part-- > 0;) end = firsts[part] = begin_of[part][end];
  return firsts;
}

}  // namespace

CutCost cost_of(const std::vector<Item>& items, const std::vector<std::size_t>& firsts, const Room& room) {
  const Row row(items, firsts.size(), room.stash_depths);
  CutCost cost;
  for (std::size_t part = 0; part < firsts.size(); ++part) {
    const std::size_t end = part + 1 < firsts.size() ? firsts[part + 1] : items.size();
    double seconds = 0;
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (std::size_t i = firsts[part]; i < end; ++i) {
      seconds += items[i].seconds;
      held += Row::held_behind(items[i], row.depth(part), firsts[part]);
      peak = std::max(peak, items[i].activation_bytes);
    }
    cost.seconds = std::max(cost.seconds, seconds);
    cost.bytes = std::max(cost.bytes, held + peak);
    if (part > 0) cost.crossing_bytes = std::max(cost.crossing_bytes, items[firsts[part]].crossing_bytes);
  }
  return cost;
}

std::vector<std::size_t> cut(const std::vector<Item>& items, std::size_t parts, const Room& room) {
  IR_CHECK(parts > 0 && parts <= items.size(), "{} items, {} parts", items.size(), parts);
  const Row row(items, parts, room.stash_depths);
  std::int64_t bytes = room.bytes > 0 ? room.bytes : kMost;
  if (!can_cut(row, {.bytes = bytes})) bytes = least_bytes(row);
  return cut_within(row, {least_seconds(row, bytes), bytes});
}

}  // namespace podium::annotate
