#include "annotate/cuts.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "ir/error.h"

namespace podium::annotate {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct Limit {
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t bytes = kMost;
};

// What parts [begin, end) of the row need, grown at the end and shrunk at the beginning.
class Window {
 public:
  explicit Window(const std::vector<Item>& items) : items_(items) {}

  void push() {
    while (!peaks_.empty() && items_[peaks_.back()].activation_bytes <= items_[end_].activation_bytes)
      peaks_.pop_back();
    peaks_.push_back(end_);
    seconds_.push_back(seconds_.back() + items_[end_].seconds);
    weights_ += items_[end_++].weight_bytes;
  }
  void pop() {
    if (peaks_.front() == begin_) peaks_.pop_front();
    weights_ -= items_[begin_++].weight_bytes;
  }
  std::size_t begin() const { return begin_; }
  bool fits(const Limit& limit) const {
    if (begin_ == end_) return true;
    // Sums of other parts of the row differ by rounding only.
    constexpr double kRounding = 1 + 1e-9;
    return seconds_[end_] - seconds_[begin_] <= limit.seconds * kRounding &&
           weights_ + items_[peaks_.front()].activation_bytes <= limit.bytes;
  }

 private:
  const std::vector<Item>& items_;
  std::deque<std::size_t> peaks_;   // places of activations that are larger than all after them
  std::vector<double> seconds_{0};  // of all items before a place
  std::int64_t weights_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// For each place where a part can end, the first place where it can begin; kNone: it fits nowhere.
std::vector<std::size_t> first_begins(const std::vector<Item>& items, const Limit& limit) {
  std::vector<std::size_t> begins(items.size() + 1, kNone);
  Window window(items);
  for (std::size_t end = 1; end <= items.size(); ++end) {
    window.push();
    while (!window.fits(limit)) window.pop();
    if (window.begin() < end) begins[end] = window.begin();
  }
  return begins;
}

// Whether at most so many parts stay in the limit: each taken as long as it can be.
bool can_cut(const std::vector<Item>& items, std::size_t parts, const Limit& limit) {
  const std::vector<std::size_t> begins = first_begins(items, limit);
  std::size_t end = items.size();
  for (std::size_t used = 0; end > 0; ++used) {
    if (used == parts || begins[end] == kNone) return false;
    end = begins[end];
  }
  return true;
}

std::int64_t least_bytes(const std::vector<Item>& items, std::size_t parts) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const Item& item : items) high += item.weight_bytes + item.activation_bytes;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (can_cut(items, parts, {.bytes = middle})) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

double least_seconds(const std::vector<Item>& items, std::size_t parts, std::int64_t bytes) {
  double low = 0;
  double high = 0;
  for (const Item& item : items) {
    low = std::max(low, item.seconds);
    high += item.seconds;
  }
  if (can_cut(items, parts, {low, bytes})) return low;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (can_cut(items, parts, {middle, bytes}) ? high : low) = middle;
  }
  return high;
}

// Of cuts in the limit, one with the fewest crossing bytes.
std::vector<std::size_t> cut_within(const std::vector<Item>& items, std::size_t parts, const Limit& limit) {
  const std::vector<std::size_t> begins = first_begins(items, limit);
  const std::size_t places = items.size() + 1;
  std::vector<std::int64_t> sent(places, kMost);  // least bytes with the parts so far, ending at a place
  sent[0] = 0;
  std::vector<std::vector<std::uint32_t>> begin_of(parts, std::vector<std::uint32_t>(places, 0));
  for (std::size_t part = 0; part < parts; ++part) {
    const auto cost = [&](std::size_t begin) {
      return sent[begin] + (begin == 0 ? 0 : items[begin].crossing_bytes);
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
      begin_of[part][end] = static_cast<std::uint32_t>(best.front());
    }
    sent = std::move(next);
  }
  IR_CHECK(sent.back() != kMost, "{} items, {} parts", items.size(), parts);
  std::vector<std::size_t> firsts(parts);
  std::size_t end = items.size();
  for (std::size_t part = parts; part-- > 0;) end = firsts[part] = begin_of[part][end];
  return firsts;
}

}  // namespace

std::vector<std::size_t> cut(const std::vector<Item>& items, std::size_t parts, std::int64_t memory_bytes) {
  IR_CHECK(parts > 0 && parts <= items.size(), "{} items, {} parts", items.size(), parts);
  std::int64_t bytes = memory_bytes > 0 ? memory_bytes : kMost;
  if (!can_cut(items, parts, {.bytes = bytes})) bytes = least_bytes(items, parts);
  return cut_within(items, parts, {least_seconds(items, parts, bytes), bytes});
}

}  // namespace podium::annotate
