// Members are sorted by the iteration in which they begin. A walk through the iterations takes over those
// that have begun and drops those that have ended, and does neither before the next one begins or ends.
#include "executor/acting.h"

#include <algorithm>
#include <limits>

namespace podium::executor {
namespace {

std::vector<Iterations> iterations_of(const std::vector<Step>& body) {
  std::vector<Iterations> all;
  all.reserve(body.size());
  for (const Step& step : body) all.push_back(step.acts);
  return all;
}

std::vector<Iterations> iterations_of(const CopyBetweenProcessors& exchange) {
  std::vector<Iterations> all;
  all.reserve(exchange.transfers.size());
  for (const Transfer& one : exchange.transfers) all.push_back(one.acts);
  return all;
}

}  // namespace

Acting::Acting(std::vector<Iterations> members) : members_(std::move(members)), by_first_(members_.size()) {
  for (std::size_t i = 0; i < by_first_.size(); ++i) by_first_[i] = static_cast<int>(i);
  const auto begins_before = [&](int a, int b) { return members_[a].first < members_[b].first; };
  if (!std::is_sorted(by_first_.begin(), by_first_.end(), begins_before)) {
    std::stable_sort(by_first_.begin(), by_first_.end(), begins_before);
  }
}

Acting::Acting(const std::vector<Step>& body) : Acting(iterations_of(body)) {}

Acting::Acting(const CopyBetweenProcessors& exchange) : Acting(iterations_of(exchange)) {}

void Acting::begin() {
  next_ = 0;
  now_.clear();
  change_ = 0;
}

std::span<const int> Acting::in(std::int64_t iteration) {
  if (iteration < iteration_) begin();
  iteration_ = iteration;
  if (iteration < change_) return now_;
  std::erase_if(now_, [&](int place) { return members_[place].end <= iteration; });
  const auto old = std::ssize(now_);
  for (; next_ < by_first_.size() && members_[by_first_[next_]].first <= iteration; ++next_) {
    if (members_[by_first_[next_]].contains(iteration)) now_.push_back(by_first_[next_]);
  }
  std::sort(now_.begin() + old, now_.end());
  std::inplace_merge(now_.begin(), now_.begin() + old, now_.end());
  change_ = std::numeric_limits<std::int64_t>::max();
  for (int place : now_) change_ = std::min<std::int64_t>(change_, members_[place].end);
  if (next_ < by_first_.size()) change_ = std::min<std::int64_t>(change_, members_[by_first_[next_]].first);
  return now_;
}

std::span<const int> ActingTransfers::of(const Step& step, std::int64_t iteration) {
  const auto entry = exchanges_.try_emplace(&step, std::get<CopyBetweenProcessors>(step.action)).first;
  return entry->second.in(iteration);
}

}  // namespace podium::executor
