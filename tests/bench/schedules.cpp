// What it takes to estimate a pipeline's schedule without a graph: its orders, whether they can run, both
// clocks, how much is held and the lower bound.
#include <fmt/core.h>

#include "executor/schedule/bounds.h"
#include "executor/schedule/families.h"
#include "executor/schedule/validate.h"
#include "tests/bench/common.h"

namespace podium::bench {
namespace {

void estimate(const schedule::Family& family, const schedule::Request& request) {
  const schedule::Schedule made = make_schedule(family, request);
  validate(made);
  const schedule::Times times = even_times(made.layout);
  clock_free(made, times);
  clock_barriered(made, times, made.superstep);
  lower_bound(made.layout, request.micro_batches, family.backward, times, peaks(made));
}

}  // namespace

bool time_schedules(const Settings& settings) {
  constexpr int kProcessors = 64;
  constexpr int kMicroBatches = 512;
  constexpr double kMost = 200;
  bool is_good = true;
  fmt::print("schedules of {} micro-batches over {} processors, milliseconds of processor time\n",
             kMicroBatches, kProcessors);
  for (const schedule::Family& family : schedule::families()) {
    const schedule::Request request{kProcessors, kMicroBatches, family.shape == schedule::Shape::V ? 2 : 1};
    const double start = processor_ms();
    estimate(family, request);
    const double ms = processor_ms() - start;
    const bool is_long = settings.check && ms > kMost;
    fmt::print("{:<16} {:>8.1f}{}\n", family.name, ms,
               is_long ? fmt::format(", at most {} needed", kMost) : "");
    is_good = is_good && !is_long;
  }
  return is_good;
}

}  // namespace podium::bench
