// How long a schedule takes.
#pragma once

#include <vector>

#include "executor/schedule/schedule.h"

namespace podium::schedule {

/// Seconds, or any other unit, of a chunk and a micro-batch.
struct ChunkTimes {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;
};
struct Times {
  std::vector<ChunkTimes> of_chunk = {};
  double hop = 0;  ///< from one processor to another
};
double time_of(const Times& times, const Action& action);
/// The same on every processor: `whole` is what a micro-batch takes there in all its chunks.
Times even_times(const Layout& layout, const ChunkTimes& whole = {}, double hop = 0);

struct Span {
  double start = 0;
  double end = 0;
};

struct Timed {
  std::vector<std::vector<Span>> spans = {};  ///< of each action, where the schedule has it
  double makespan = 0;
  /// From the first start to the last end of the processor for which that is longest.
  double longest_stage = 0;
};

/// On a machine on which a hop delays its reader and holds nobody. The schedule can run.
Timed clock_free(const Schedule& schedule, const Times& times);

struct Barriered {
  double makespan = 0;
  int supersteps = 0;
  std::vector<std::vector<int>> superstep_of = {};  ///< of each action, where the schedule has it
};
/// On a machine on which every exchange waits for all processors, and takes no time itself: supersteps are as
/// long as their slowest processor. Each action comes as early as it can.
Barriered clock_barriered(const Schedule& schedule, const Times& times, Superstep superstep);

}  // namespace podium::schedule
