#include "executor/session/pipeline_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "executor/schedule/families.h"
#include "executor/session/place_model.h"
#include "executor/sim/block_cost.h"

namespace podium {
namespace {

// Where devices of a cut meet, the host dispatches on, so that a block may last no longer than its kernels.
double seconds_of(const lower::PassBlocks::Block& block, const Strategy& strategy,
                  const device::Device& device, sim::BlockCosts& costs) {
  const sim::BlockCost& cost = costs.of(*block.graph, device.tiles - strategy.io_tiles);
  return strategy.cuts_tensors() ? cost.kernel_seconds : cost.seconds;
}

void add(schedule::ChunkTimes& times, schedule::Pass pass, double seconds) {
  switch (schedule::leg_of(pass)) {
    case schedule::Leg::There:
      times.forward += seconds;
      return;
    case schedule::Leg::Back:
      times.input_gradient += seconds;
      return;
    case schedule::Leg::Weights:
      times.weight_gradient += seconds;
      return;
  }
}

// Where a chunk is on a group of processors, each leg takes as long as on the slowest of them.
std::vector<schedule::ChunkTimes> times_of_chunks(const lower::PassBlocks& blocks, const Strategy& strategy,
                                                  const device::Device& device, sim::BlockCosts& costs) {
  std::map<std::pair<int, int>, schedule::ChunkTimes> of_processors;  // by chunk and processor
  for (const auto& [of, block] : blocks.passes) {
    const std::pair place(of.chunk, block.processor);
    add(of_processors.try_emplace(place, schedule::ChunkTimes{0, 0, 0}).first->second, of.pass,
        seconds_of(block, strategy, device, costs));
  }
  std::vector<schedule::ChunkTimes> times(blocks.layout.chunks(), {0, 0, 0});
  for (const auto& [place, own] : of_processors) {
    schedule::ChunkTimes& slowest = times[place.first];
    slowest.forward = std::max(slowest.forward, own.forward);
    slowest.input_gradient = std::max(slowest.input_gradient, own.input_gradient);
    slowest.weight_gradient = std::max(slowest.weight_gradient, own.weight_gradient);
  }
  return times;
}

// A micro-batch takes as much on a processor as the smallest of its chunks would in all of them.
std::vector<double> room_of(const lower::PassBlocks& blocks, const Strategy& strategy,
                            const device::Device& device) {
  constexpr double kEndless = std::numeric_limits<int>::max();
  const schedule::Layout& layout = blocks.layout;
  std::vector<double> room(layout.processors, kEndless);
  if (strategy.activations.location.storage == ir::Storage::OffChip) return room;
  for (int r = 0; r < layout.processors; ++r) {
    double least = kEndless;
    int chunks = 0;
    for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
      if (layout.processor_of[chunk] != r) continue;
      least = std::min(least, static_cast<double>(blocks.kept_bytes[chunk]));
      ++chunks;
    }
    const double bytes = static_cast<double>(device.memory_bytes() - blocks.variable_bytes[r]);
    if (chunks > 0 && least > 0) room[r] = std::clamp(bytes / (least * chunks), 1.0, kEndless);
  }
  return room;
}

}  // namespace

TimedPipeline time_pipeline(const lower::PassBlocks& blocks, const Strategy& strategy,
                            const device::Device& device) {
  TimedPipeline timed{
      .layout = blocks.layout, .backward = blocks.backward, .room = room_of(blocks, strategy, device)};
  sim::BlockCosts costs(device, strategy.outlining);
  timed.times.of_chunk = times_of_chunks(blocks, strategy, device, costs);
  std::vector<double> updates(blocks.layout.processors, 0);
  for (const lower::PassBlocks::Block& block : blocks.updates) {
    if (block.processor >= std::ssize(updates)) updates.resize(block.processor + 1, 0);
    updates[block.processor] += seconds_of(block, strategy, device, costs);
  }
  if (!updates.empty()) timed.update_seconds = *std::ranges::min_element(updates);
  return timed;
}

schedule::Bound bound_of(const TimedPipeline& pipeline, const Strategy& strategy) {
  schedule::Bound bound = lower_bound(pipeline.layout, micro_batches_of_cycles(strategy), pipeline.backward,
                                      pipeline.times, pipeline.room);
  bound.makespan = strategy.batches_per_step * (bound.makespan + pipeline.update_seconds);
  return bound;
}

std::vector<schedule::Orders> orders_by_time(const TimedPipeline& pipeline, const Strategy& strategy) {
  const schedule::Layout one_each = layout_of(schedule::Shape::Loop, pipeline.layout.processors, 1);
  if (pipeline.layout != one_each) return {};  // which lowering refuses
  std::vector<PipelineOrder> tried{strategy.pipeline_order};
  if (strategy.pipeline_order == PipelineOrder::ListScheduled) {
    tried.insert(tried.end(), {PipelineOrder::OneForwardOneBackward, PipelineOrder::ZeroBubbleH1,
                               PipelineOrder::ZeroBubbleH2});
  }
  std::vector<schedule::Orders> found;
  for (const PipelineOrder order : tried) {
    found.push_back(
        make_schedule(schedule::family_of(order), {.processors = pipeline.layout.processors,
                                                   .micro_batches = micro_batches_of_cycles(strategy),
                                                   .deferred = strategy.pipeline_deferred,
                                                   .times = pipeline.times,
                                                   .room = pipeline.room})
            .orders);
  }
  return found;
}

}  // namespace podium
