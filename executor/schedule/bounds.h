// What no schedule of a class can beat.
#pragma once

#include <string_view>

#include "executor/schedule/clock.h"
#include "executor/schedule/families.h"

namespace podium::schedule {

/// The reason for a lower bound of the makespan.
enum class Limit : std::uint8_t {
  Work,    ///< what a processor computes, behind the way of the first micro-batch to it
  Path,    ///< the last micro-batch's way back
  Room,    ///< only so many forward passes fit before the first way back
  Waiting  ///< each micro-batch takes room from its way there to its way back
};
std::string_view to_string(Limit limit);

struct Bound {
  double makespan = 0;
  Limit limit = Limit::Work;
  int processor = 0;  ///< for which it is largest
};

/// Of all schedules with this layout, number of micro-batches (of all copies of the model) and kind of
/// backward pass; a processor has room for what `room` micro-batches leave in all its chunks.
Bound lower_bound(const Layout& layout, int micro_batches, Backward backward, const Times& times,
                  const std::vector<double>& room);

}  // namespace podium::schedule
