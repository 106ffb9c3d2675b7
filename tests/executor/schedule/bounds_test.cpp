#include "executor/schedule/bounds.h"

#include <gmock/gmock.h>

#include "executor/schedule/validate.h"

namespace podium::schedule {
namespace {

Bound bound_with(Shape shape, double room) {
  const Layout layout = layout_of(shape, 4, 1);
  return lower_bound(layout, 8, Backward::Split, even_times(layout), std::vector<double>(4, room));
}

// Four processors, eight micro-batches, every pass one unit.
TEST(Bounds, AreTheWorkedOnes) {
  EXPECT_DOUBLE_EQ(bound_with(Shape::Loop, 4).makespan, 27);
  EXPECT_DOUBLE_EQ(bound_with(Shape::Loop, 7).makespan, 27);
  EXPECT_DOUBLE_EQ(bound_with(Shape::V, 4).makespan, 25.5);
  EXPECT_DOUBLE_EQ(bound_with(Shape::V, 3).makespan, 26.5);
  EXPECT_DOUBLE_EQ(bound_with(Shape::V, 2).makespan, 27.5);
}

TEST(Bounds, SayWhatBinds) {
  EXPECT_EQ(bound_with(Shape::Loop, 7).limit, Limit::Work);
  EXPECT_EQ(bound_with(Shape::Loop, 3).limit, Limit::Room);
  EXPECT_EQ(bound_with(Shape::Loop, 1).limit, Limit::Waiting);
}

// On uneven times, too, and with a last chunk that is slow in one copy of the model alone.
TEST(Bounds, NoScheduleIsBelow) {
  for (const Family& family : families()) {
    for (int p : {1, 2, 3, 4, 8}) {
      for (int chunks : {1, 2, 3, 4}) {
        for (int m : {1, 2, p, p + 1, 2 * p, 4 * p}) {
          const Request request{p, m, chunks};
          if (!family.why_not(request).empty()) continue;
          const Schedule schedule = make_schedule(family, request);
          Times times = even_times(schedule.layout, {1, 1.25, 0.75}, 0.125);
          for (int slow = 0; slow < 2; ++slow) {
            const Bound bound = lower_bound(schedule.layout, m, family.backward, times, peaks(schedule));
            EXPECT_GE(clock_free(schedule, times).makespan, bound.makespan - 1e-9)
                << family.name << " " << p << " " << chunks << " " << m << " " << to_string(bound.limit);
            times.of_chunk.back().forward *= 3;
          }
        }
      }
    }
  }
}

TEST(Bounds, TheBestSchedulesReachThem) {
  for (int p : {2, 4, 8}) {
    for (const std::string_view name : {"1f1b", "gpipe", "zb-h1", "zb-h2", "zb-v", "dualpipe"}) {
      const Family& family = *find_family(name);
      const Schedule schedule = make_schedule(family, {p, 4 * p, family.shape == Shape::V ? 2 : 1});
      const Times times = even_times(schedule.layout);
      EXPECT_DOUBLE_EQ(clock_free(schedule, times).makespan,
                       lower_bound(schedule.layout, 4 * p, family.backward, times, peaks(schedule)).makespan)
          << name << p;
    }
  }
}

}  // namespace
}  // namespace podium::schedule
