// Both clocks go through the orders of all processors until each waits or is done: who has an action that
// waits for nobody takes it. A queue holds the processors that may go on, so that each action is looked at
// once for each action that it waits for.
#include "executor/schedule/clock.h"

#include <algorithm>
#include <array>
#include <deque>

#include "ir/error.h"

namespace podium::schedule {
namespace {

// Calls take(processor, place in its order) on all actions in an order in which they can run. `take` gives
// false while the action has to wait.
template <class Take>
void walk_ready(const Schedule& schedule, const Take& take) {
  const Layout& layout = schedule.layout;
  std::vector<std::size_t> next(schedule.orders.size(), 0);
  std::deque<int> may_go;
  for (int r = 0; r < std::ssize(next); ++r) may_go.push_back(r);
  std::size_t left = 0;
  for (const std::vector<Action>& order : schedule.orders) left += order.size();
  while (!may_go.empty()) {
    const int r = may_go.front();
    may_go.pop_front();
    const std::vector<Action>& order = schedule.orders[r];
    while (next[r] < order.size() && take(r, next[r])) {
      const Action& done = order[next[r]++];
      --left;
      const Leg leg = leg_of(done.pass);
      if (leg == Leg::There && !layout.is_last(done.chunk)) {
        may_go.push_back(layout.processor_of[done.chunk + 1]);
      }
      if (leg == Leg::Back && !layout.is_first(done.chunk)) {
        may_go.push_back(layout.processor_of[done.chunk - 1]);
      }
    }
  }
  IR_CHECK(left == 0, "{} actions wait for each other", left);
}

}  // namespace

double time_of(const Times& times, const Action& action) {
  const ChunkTimes& of = times.of_chunk[action.chunk];
  switch (action.pass) {
    case Pass::Forward:
      return of.forward;
    case Pass::InputGradient:
      return of.input_gradient;
    case Pass::WeightGradient:
      return of.weight_gradient;
    case Pass::Backward:
      return of.input_gradient + of.weight_gradient;
  }
  IR_CHECK(false);
}

Times even_times(const Layout& layout, const ChunkTimes& whole, double hop) {
  const double each = static_cast<double>(layout.processors) / layout.stages();
  const ChunkTimes chunk{whole.forward * each, whole.input_gradient * each, whole.weight_gradient * each};
  return {.of_chunk = std::vector<ChunkTimes>(layout.chunks(), chunk), .hop = hop};
}

Timed clock_free(const Schedule& schedule, const Times& times) {
  constexpr double kNotYet = -1;
  const Layout& layout = schedule.layout;
  PerStop<double> ends(schedule, kNotYet);
  std::vector<double> free_at(schedule.orders.size(), 0);
  Timed timed{.spans = std::vector<std::vector<Span>>(schedule.orders.size())};
  walk_ready(schedule, [&](int r, std::size_t place) {
    const Action& action = schedule.orders[r][place];
    double start = free_at[r];
    bool waits = false;
    for_each_dependence(layout, action, [&](Stop stop) {
      const double end = ends.at(stop, action.micro_batch);
      waits = waits || end == kNotYet;
      start = std::max(start, end + (layout.processor_of[stop.chunk] == r ? 0 : times.hop));
    });
    if (waits) return false;
    free_at[r] = ends.at(action) = start + time_of(times, action);
    timed.spans[r].push_back({start, free_at[r]});
    return true;
  });
  for (const std::vector<Span>& spans : timed.spans) {
    if (spans.empty()) continue;
    timed.makespan = std::max(timed.makespan, spans.back().end);
    timed.longest_stage = std::max(timed.longest_stage, spans.back().end - spans.front().start);
  }
  return timed;
}

Barriered clock_barriered(const Schedule& schedule, const Times& times, Superstep superstep) {
  constexpr int kNotYet = -1;
  const Layout& layout = schedule.layout;
  // A processor's part of the superstep that it is in.
  struct Part {
    int superstep = 0;
    std::array<bool, kLegs> has = {};
    double time = 0;
  };
  PerStop<int> done_in(schedule, kNotYet);
  std::vector<Part> parts(schedule.orders.size());
  std::vector<double> lengths;
  Barriered result{.superstep_of = std::vector<std::vector<int>>(schedule.orders.size())};
  walk_ready(schedule, [&](int r, std::size_t place) {
    const Action& action = schedule.orders[r][place];
    Part& part = parts[r];
    const auto leg = static_cast<std::size_t>(leg_of(action.pass));
    const bool is_full = superstep == Superstep::Slot ? part.time > 0 || place > 0 : part.has[leg];
    int at = part.superstep + (is_full ? 1 : 0);
    bool waits = false;
    for_each_dependence(layout, action, [&](Stop stop) {
      const int done = done_in.at(stop, action.micro_batch);
      waits = waits || done == kNotYet;
      at = std::max(at, layout.processor_of[stop.chunk] == r ? done : done + 1);
    });
    if (waits) return false;
    at = action.superstep.value_or(at);
    if (at != part.superstep) part = {.superstep = at};
    part.has[leg] = true;
    if (action.pass == Pass::Backward) part.has[static_cast<std::size_t>(Leg::Weights)] = true;
    part.time += time_of(times, action);
    if (std::ssize(lengths) <= at) lengths.resize(at + 1, 0);
    lengths[at] = std::max(lengths[at], part.time);
    done_in.at(action) = at;
    result.superstep_of[r].push_back(at);
    return true;
  });
  for (double length : lengths) result.makespan += length;
  result.supersteps = static_cast<int>(lengths.size());
  return result;
}

}  // namespace podium::schedule
