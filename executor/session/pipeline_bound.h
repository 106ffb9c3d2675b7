// What a pipeline's schedule is held against: the times of its passes, a bound that no schedule of its class
// beats, and orders that go by those times.
#pragma once

#include "executor/device/device.h"
#include "executor/lower/draft/passes.h"
#include "executor/schedule/bounds.h"
#include "executor/strategy.h"

namespace podium {

/// The passes of a pipeline on a device. Hops take no time, so that what follows holds for any links.
struct TimedPipeline {
  schedule::Layout layout = {};
  schedule::Backward backward = schedule::Backward::Whole;
  schedule::Times times = {};
  /// For how many micro-batches each processor has room beside its variables.
  std::vector<double> room = {};
  double update_seconds = 0;  ///< of the processor that has least of the update
};
TimedPipeline time_pipeline(const lower::PassBlocks& blocks, const Strategy& strategy,
                            const device::Device& device);

/// The seconds below which no schedule of the same chunks and kind of backward pass gets a run: its pipeline,
/// empty before and behind each update, and the updates.
schedule::Bound bound_of(const TimedPipeline& pipeline, const Strategy& strategy);

/// The orders of a schedule that goes by times, for this pipeline; of the list scheduler those of 1F1B, ZB-H1 and
/// ZB-H2 behind its own, since it does not know the links. None where the chunks are not one on each processor.
std::vector<schedule::Orders> orders_by_time(const TimedPipeline& pipeline, const Strategy& strategy);

}  // namespace podium
