#include "executor/sim/walk.h"

#include "executor/sim/steady_state.h"

namespace podium::sim {
namespace {

class Walker {
 public:
  Walker(const Tasks& tasks, Clock& clock, Events* events) : tasks_(tasks), clock_(clock), events_(events) {}

  void walk(const std::vector<Item>& items, std::int64_t iteration) {
    for (const Item& item : items) {
      if (item.task >= 0) {
        run(tasks_.tasks[static_cast<std::size_t>(item.task)], iteration);
        continue;
      }
      const Loop& loop = tasks_.loops[static_cast<std::size_t>(item.loop)];
      for (const LoopPart& part : loop.parts) repeat(part, loop.count);
    }
  }

  std::int64_t folded = 0;

 private:
  void run(const Task& task, std::int64_t iteration) {
    const Span span = clock_.run(task, iteration);
    if (events_ != nullptr) events_->note(task, iteration, span);
  }

  // The state is compared with that of one earlier iteration, taken anew at distances 1, 2, 4, ...: so a period
  // of any length is found while only one state is kept (Brent's way to find cycles). A period counts when chains
  // of data have grown in it as in the one before.
  void repeat(const LoopPart& part, std::int64_t count) {
    LoopState then(part, clock_, 0);
    std::vector<Ticks> last_growth;
    std::int64_t window = 1;
    for (std::int64_t done = 0; done < count;) {
      walk(part.items, done++);
      const std::int64_t period = done - then.iteration();
      const std::int64_t times =
          then.same_as_now(done) ? then.times_more(tasks_, (count - done) / period) : 0;
      bool renew = period == window;
      if (renew) window *= 2;
      if (times > 0) {
        std::vector<Ticks> growth = then.chain_growth(done);
        if (growth == last_growth) {
          then.repeat(done, times);
          folded += times * period;
          done += times * period;
        }
        last_growth = std::move(growth);
        window = period;
        renew = true;
      }
      if (renew) then = LoopState(part, clock_, done);
    }
  }

  const Tasks& tasks_;
  Clock& clock_;
  Events* events_;
};

}  // namespace

std::int64_t walk(const Tasks& tasks, Clock& clock, Events* events) {
  Walker walker(tasks, clock, events);
  walker.walk(tasks.items, 0);
  return walker.folded;
}

}  // namespace podium::sim
