// A list scheduler for stages of uneven times: a clock goes from one end of a pass to the next, and the
// processor that is free takes what can start at once:
//
//   1. a forward pass or a way back, in turns where both can start; a forward pass only while there is room
//   2. else the oldest weight gradient that it has put off
//   3. else it waits until a neighbour ends a pass
//
// Greedy orders can lose to the fixed ones where room is short, so 1F1B and ZB-H1 are timed beside it, and
// the fastest that the room allows is taken.
#include <algorithm>
#include <functional>
#include <queue>

#include "executor/schedule/families.h"
#include "executor/schedule/validate.h"

namespace podium::schedule {
namespace {

// No processor needs more micro-batches on their way than this many times the processors.
constexpr int kMostAhead = 2;

// As much as 1F1B takes where nobody says how much there is.
std::vector<double> room_of(const Request& request) {
  if (!request.room.empty()) return request.room;
  return std::vector<double>(request.processors, request.processors);
}

class ListScheduler {
 public:
  ListScheduler(const Request& request, Times times, const std::vector<double>& room)
      : micro_batches_(request.micro_batches), times_(std::move(times)), all_(request.processors) {
    for (int r = 0; r < request.processors; ++r) {
      all_[r].room = std::clamp(static_cast<int>(room[r]), 1, kMostAhead * request.processors);
      wakes_.push({0, r});
    }
  }

  Orders run() {
    while (!wakes_.empty()) {
      const auto [now, r] = wakes_.top();
      wakes_.pop();
      if (now >= all_[r].free_at) go_on(r, now);
    }
    Orders orders;
    for (Processor& one : all_) orders.push_back(std::move(one.order));
    return orders;
  }

 private:
  struct Processor {
    std::vector<Action> order = {};
    std::vector<double> there = {};  ///< when each forward pass ends
    std::vector<double> back = {};   ///< when each way back ends
    int weights = 0;                 ///< weight gradients taken
    int room = 1;
    double free_at = 0;
    Leg last = Leg::Back;
  };

  bool can_go_there(int r, double now) const {
    const Processor& one = all_[r];
    const auto k = std::ssize(one.there);
    if (k == micro_batches_ || k - one.weights >= one.room) return false;
    return r == 0 || has_come(all_[r - 1].there, k, now);
  }
  bool can_come_back(int r, double now) const {
    const Processor& one = all_[r];
    const auto k = std::ssize(one.back);
    if (k == std::ssize(one.there)) return false;
    return r + 1 == std::ssize(all_) || has_come(all_[r + 1].back, k, now);
  }
  bool has_come(const std::vector<double>& ends, std::int64_t k, double now) const {
    return k < std::ssize(ends) && ends[k] + times_.hop <= now;
  }

  void go_on(int r, double now) {
    Processor& one = all_[r];
    const bool there = can_go_there(r, now);
    const bool back = can_come_back(r, now);
    if (there && (!back || one.last == Leg::Back)) {
      take(r, now, {Pass::Forward, r, static_cast<int>(one.there.size())});
    } else if (back) {
      take(r, now, {Pass::InputGradient, r, static_cast<int>(one.back.size())});
    } else if (one.weights < std::ssize(one.back)) {
      take(r, now, {Pass::WeightGradient, r, one.weights});
    }
  }

  void take(int r, double now, const Action& action) {
    Processor& one = all_[r];
    one.order.push_back(action);
    const double end = one.free_at = now + time_of(times_, action);
    wakes_.push({end, r});
    switch (leg_of(action.pass)) {
      case Leg::There:
        one.there.push_back(end);
        one.last = Leg::There;
        if (r + 1 < std::ssize(all_)) wakes_.push({end + times_.hop, r + 1});
        return;
      case Leg::Back:
        one.back.push_back(end);
        one.last = Leg::Back;
        if (r > 0) wakes_.push({end + times_.hop, r - 1});
        return;
      case Leg::Weights:
        ++one.weights;
        return;
    }
  }

  struct Wake {
    double time = 0;
    int processor = 0;
    friend auto operator<=>(const Wake&, const Wake&) = default;
  };

  int micro_batches_;
  Times times_;
  std::vector<Processor> all_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

bool keeps_to(const std::vector<double>& room, const Schedule& schedule) {
  const std::vector<double> held = peaks(schedule);
  for (std::size_t r = 0; r < held.size(); ++r) {
    if (held[r] > std::max(1.0, room[r])) return false;
  }
  return true;
}

}  // namespace

Orders list_scheduled(const Request& request) {
  const Times times = times_of(request);
  const std::vector<double> room = room_of(request);
  Schedule best{.layout = layout_of(Shape::Loop, request.processors, 1),
                .micro_batches = request.micro_batches,
                .orders = ListScheduler(request, times, room).run()};
  double shortest = clock_free(best, times).makespan;
  for (Orders (*const orders)(const Request&) : {zero_bubble_h1, one_forward_one_backward}) {
    Schedule other = best;
    other.orders = orders(request);
    const double makespan = clock_free(other, times).makespan;
    if (makespan >= shortest || !keeps_to(room, other)) continue;
    shortest = makespan;
    best = std::move(other);
  }
  return best.orders;
}

}  // namespace podium::schedule
