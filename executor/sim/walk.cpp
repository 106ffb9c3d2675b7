#include "executor/sim/walk.h"

#include <algorithm>
#include <optional>

#include "executor/acting.h"
#include "executor/sim/steady_state.h"
#include "ir/interruption.h"

namespace podium::sim {
namespace {

// A period of more iterations is taken as it is.
constexpr std::int64_t kPatience = 50;

// To look at a slot of a state takes so much less than to walk a task.
constexpr std::int64_t kSlotsPerTask = 16;

// Whether so many iterations are walked sooner than looked at. What holds no lane has no state to compare.
bool is_soon_walked(const LoopPart& part, std::int64_t iterations) {
  return part.lanes.empty() || iterations * std::ssize(part.items) * kSlotsPerTask < part.slots;
}

class Walker {
 public:
  Walker(const Tasks& tasks, TaskClock& clock, Events* events)
      : tasks_(tasks), clock_(clock), events_(events) {}

  void walk(const Item& item, std::int64_t iteration) {
    ir::look_for_interruption();
    if (item.task >= 0) return run_part(tasks_.tasks[item.task], iteration);
    const Loop& loop = tasks_.loops[item.loop];
    for (const LoopPart& part : loop.parts) {
      executor::Acting acting = acting_of(tasks_, part.items);
      std::int64_t done = 0;
      for (std::int64_t end : loop.stretches) done = repeat(part, acting, done, end);
    }
    if (events_ != nullptr) events_->note_end(*loop.step, end_of(loop));
  }

  std::int64_t folded = 0;

 private:
  void run_part(const Task& task, std::int64_t iteration) {
    if (!task.has_parts) return run(task, iteration);
    const std::optional<Task> part = tasks_.acting(task, iteration);
    if (part) run(*part, iteration);
  }
  void run(const Task& task, std::int64_t iteration) {
    const Span span = clock_.run(task, iteration);
    if (events_ != nullptr) events_->note(task, iteration, span, clock_.log.size() - 1);
  }

  // Skips `times` repetitions of the period since `then`.
  void fold(const LoopPart& part, const LoopState& then, std::int64_t done, std::int64_t times) {
    std::vector<Ticks> before;
    for (int lane : part.lanes) before.push_back(clock_.lanes[lane]);
    then.repeat(done, times);
    if (events_ == nullptr) return;
    for (std::size_t i = 0; i < part.lanes.size(); ++i) {
      const int lane = part.lanes[i];
      events_->note_fold(lane, {before[i], clock_.lanes[lane]}, times * (done - then.iteration()));
    }
  }

  // When the last lane of the loop is done.
  Ticks end_of(const Loop& loop) const {
    Ticks end = 0;
    for (const LoopPart& part : loop.parts) {
      for (int lane : part.lanes) end = std::max<Ticks>(end, clock_.lanes[lane]);
    }
    return end;
  }

  // The state is compared with that of one earlier iteration, taken anew at distances 1, 2, 4, ...: so a
  // period of any length is found while only one state is kept (Brent's way to find cycles). A period counts
  // when chains of data have grown in it as in the one before; where they have not, one of twice the length
  // is looked at. The iterations from the first up to `count` are alike; gives `count`. A pipeline has two
  // short runs of alike iterations for each stage, which are walked as they are.
  std::int64_t repeat(const LoopPart& part, executor::Acting& acting, std::int64_t first,
                      std::int64_t count) {
    const auto walk_through = [&](std::int64_t iteration) {
      for (int place : acting.in(iteration)) walk(part.items[place], iteration);
    };
    if (first + 1 == count || is_soon_walked(part, count - first)) {
      for (std::int64_t iteration = first; iteration < count; ++iteration) walk_through(iteration);
      return count;
    }
    const LoopStart start(part, clock_, first);
    std::vector<Ticks> last_growth;
    std::int64_t shortest = 1;  // period
    std::int64_t window = 1;
    LoopState then(part, clock_, first, start, first + window);
    for (std::int64_t done = first; done < count;) {
      walk_through(done++);
      const std::int64_t period = done - then.iteration();
      std::int64_t times = 0;
      if (period >= shortest && then.same_as_now(done))
        times = then.times_more(tasks_, (count - done) / period);
      if (times == 0 && period < window) continue;
      window = 2 * period;
      if (times > 0) {
        std::vector<Ticks> growth = then.chain_growth(done);
        if (growth == last_growth || period > kPatience) {
          fold(part, then, done, times);
          folded += times * period;
          done += times * period;
        } else if (!last_growth.empty()) {
          shortest = 2 * period;
          growth.clear();
        }
        last_growth = std::move(growth);
        window = std::max(period, shortest);
      }
      if (done < count) then = LoopState(part, clock_, done, start, done + window);
    }
    return count;
  }

  const Tasks& tasks_;
  TaskClock& clock_;
  Events* events_;
};

}  // namespace

std::int64_t walk(const Tasks& tasks, TaskClock& clock, Events* events) {
  Walker walker(tasks, clock, events);
  for (const Item& item : tasks.items) walker.walk(item, 0);
  return walker.folded;
}

}  // namespace podium::sim
