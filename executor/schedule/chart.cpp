#include "executor/schedule/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "executor/schedule/clock.h"
#include "executor/schedule/validate.h"

namespace podium::schedule {

std::string chart(const Schedule& schedule) {
  const Times times{.of_chunk = std::vector<ChunkTimes>(schedule.layout.chunks())};
  const Timed timed = clock_free(schedule, times);
  const std::vector<double> held = peaks(schedule);
  std::size_t column = 0;
  for (const std::vector<Action>& order : schedule.orders) {
    for (const Action& action : order) {
      column = std::max(column, to_string(action, schedule.layout).size() + 1);
    }
  }
  const auto place = [&](double time) { return static_cast<std::size_t>(std::lround(time)) * column; };
  std::string lines;
  for (std::size_t r = 0; r < schedule.orders.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < schedule.orders[r].size(); ++i) {
      line.resize(place(timed.spans[r][i].start), ' ');
      line += to_string(schedule.orders[r][i], schedule.layout);
      const bool is_wide = schedule.orders[r][i].pass == Pass::Backward;
      line.resize(place(timed.spans[r][i].end) - 1, is_wide ? '-' : ' ');
    }
    lines += fmt::format("ipu {:<3} {:<{}}  holds {:g}\n", r, line, place(timed.makespan), held[r]);
  }
  return lines;
}

}  // namespace podium::schedule
