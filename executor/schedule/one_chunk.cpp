// Schedules with one chunk on each of p processors; r is the processor, m the number of micro-batches.
//
//   GPipe        all forward passes, then all backward passes
//   1F1B         p - 1 - r forward passes, then a forward and a backward pass in turns
//   lockstep     the same with 2 (p - 1 - r) of them: every processor is a cycle behind the one before it
//   ZB-H1        1F1B with the backward pass in halves; weight gradients wait for r micro-batches
//   ZB-H2        lockstep with halves; weight gradients wait for 2 r micro-batches
//
// Fewer where the request says how many may wait.
//
// Lockstep in halves is made cycle by cycle: in cycle c processor r has F of micro-batch c - r and I of
// c - 2 (p - 1) + r. A processor that has more weight gradients pending than it may put off computes one; the
// longest processor of a cycle says how long the cycle is, and who has room in it computes more of them. Two
// things are tried, and what is fastest by the times is taken: by how much a weight gradient may lengthen a
// cycle, so that processors which take almost as long keep up with each other; and, for one processor after
// the other, that it puts off none. That helps one without room in later cycles, as the first, whose weight
// gradients are all of its way back: what it puts off piles up behind the last cycle.
#include <algorithm>

#include "executor/schedule/families.h"

namespace podium::schedule {
namespace {

// So many forward passes ahead, then one each in turns.
Orders in_turns(const Request& request, int ahead_of_each) {
  Orders orders(request.processors);
  for (int r = 0; r < request.processors; ++r) {
    const int ahead = std::min(ahead_of_each * (request.processors - 1 - r), request.micro_batches);
    for (int k = 0; k < request.micro_batches + ahead; ++k) {
      if (k < request.micro_batches) orders[r].push_back({Pass::Forward, r, k});
      if (k >= ahead) orders[r].push_back({Pass::Backward, r, k - ahead});
    }
  }
  return orders;
}

// The weight gradients of processor r wait for lag_of_each * r micro-batches.
Orders in_halves(const Request& request, int ahead_of_each, int lag_of_each) {
  const int m = request.micro_batches;
  Orders orders(request.processors);
  for (int r = 0; r < request.processors; ++r) {
    const int ahead = std::min(ahead_of_each * (request.processors - 1 - r), m);
    const int lag = std::min(lag_of_each * r, request.deferred.value_or(m));
    for (int k = 0; k < ahead; ++k) orders[r].push_back({Pass::Forward, r, k});
    int weights = 0;
    for (int k = 0; k < m; ++k) {
      if (k + ahead < m) orders[r].push_back({Pass::Forward, r, k + ahead});
      orders[r].push_back({Pass::InputGradient, r, k});
      if (k >= lag) orders[r].push_back({Pass::WeightGradient, r, weights++});
    }
    while (weights < m) orders[r].push_back({Pass::WeightGradient, r, weights++});
  }
  return orders;
}

class LockstepInHalves {
 public:
  LockstepInHalves(const Times& times, int processors, int micro_batches)
      : times_(times), processors_(processors), micro_batches_(micro_batches) {}

  int cycles() const { return micro_batches_ + 2 * (processors_ - 1); }

  struct Plan {
    std::vector<int> deferred = {};  ///< how many weight gradients each processor may put off
    double stretch = 1;              ///< by how much others may lengthen a cycle
  };

  /// Gives each action to `take`, and the time that all take together.
  template <class Take>
  double run(const Plan& plan, const Take& take) const {
    std::vector<Pending> all(processors_);
    double time = 0;
    for (int cycle = 0; cycle < cycles(); ++cycle) time += run_cycle(cycle, plan, all, take);
    double rest = 0;
    for (int r = 0; r < processors_; ++r) {
      rest = std::max(rest, (all[r].given - all[r].weights) * weights_of(r));
      while (all[r].weights < all[r].given) take(Action{Pass::WeightGradient, r, all[r].weights++, cycles()});
    }
    return time + rest;
  }

  /// The fastest that is tried; a processor puts off `most` weight gradients, or none. Neighbours of a long
  /// pipeline do so together: each try is a run of all.
  Plan best(int most) const {
    Plan best{.deferred = std::vector<int>(processors_, most)};
    double shortest = time_of(best);
    for (const double stretch : {1.0, 1.005, 1.02, 1.05}) {
      Plan plan{.deferred = std::vector<int>(processors_, most), .stretch = stretch};
      double time = time_of(plan);
      const int tries = std::min(processors_, kMostTries);
      for (int t = 0; t < tries; ++t) {
        const auto first = plan.deferred.begin() + processors_ * t / tries;
        const auto end = plan.deferred.begin() + processors_ * (t + 1) / tries;
        std::fill(first, end, 0);
        const double without = time_of(plan);
        if (without >= time) std::fill(first, end, most);
        time = std::min(time, without);
      }
      if (time >= shortest) continue;
      shortest = time;
      best = plan;
    }
    return best;
  }

 private:
  static constexpr int kMostTries = 32;

  // The weight gradients of a processor.
  struct Pending {
    int given = 0;     ///< as many as input gradients have been computed
    int weights = 0;   ///< computed
    double spent = 0;  ///< time in this cycle
  };

  double time_of(const Plan& plan) const {
    return run(plan, [](const Action&) {});
  }
  double weights_of(int r) const { return times_.of_chunk[r].weight_gradient; }

  template <class Take>
  double run_cycle(int cycle, const Plan& plan, std::vector<Pending>& all, const Take& take) const {
    const auto is_there = [&](int k) { return 0 <= k && k < micro_batches_; };
    double longest = 0;
    for (int r = 0; r < processors_; ++r) {
      Pending& one = all[r];
      one.spent = 0;
      if (const int k = cycle - r; is_there(k)) {
        one.spent += times_.of_chunk[r].forward;
        take(Action{Pass::Forward, r, k, cycle});
      }
      if (const int k = cycle - 2 * (processors_ - 1) + r; is_there(k)) {
        one.spent += times_.of_chunk[r].input_gradient;
        take(Action{Pass::InputGradient, r, k, cycle});
        ++one.given;
      }
      if (one.given - one.weights > plan.deferred[r]) take_weights(r, cycle, one, take);
      longest = std::max(longest, one.spent);
    }
    constexpr double kRounding = 1 + 1e-9;
    const double room = longest * plan.stretch * kRounding;
    for (int r = 0; r < processors_; ++r) {
      Pending& one = all[r];
      while (one.weights < one.given && one.spent + weights_of(r) <= room) take_weights(r, cycle, one, take);
      longest = std::max(longest, one.spent);
    }
    return longest;
  }

  template <class Take>
  void take_weights(int r, int cycle, Pending& one, const Take& take) const {
    take(Action{Pass::WeightGradient, r, one.weights++, cycle});
    one.spent += weights_of(r);
  }

  const Times& times_;
  int processors_;
  int micro_batches_;
};

}  // namespace

Orders gpipe(const Request& request) { return breadth_first(request); }

Orders one_forward_one_backward(const Request& request) { return in_turns(request, 1); }

Orders lockstep(const Request& request) { return in_turns(request, 2); }

Orders zero_bubble_h1(const Request& request) { return in_halves(request, 1, 1); }

Orders zero_bubble_h2(const Request& request) { return in_halves(request, 2, 2); }

Orders lockstep_split(const Request& request) {
  const Times times = times_of(request);
  const LockstepInHalves halves(times, request.processors, request.micro_batches);
  Orders orders(request.processors);
  const int most = request.deferred.value_or(2 * (request.processors - 1));
  halves.run(halves.best(std::min(most, request.micro_batches)),
             [&](const Action& action) { orders[action.chunk].push_back(action); });
  return orders;
}

}  // namespace podium::schedule
