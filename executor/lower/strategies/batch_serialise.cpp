#include "executor/lower/strategies/batch_serialise.h"

#include <map>

#include "ir/cannot_split.h"

namespace podium::lower {

using ir::ExchangeStrategy;
using ir::TileSet;

namespace {

// What has not been asked for otherwise takes the way of the IO mode.
template <class Way>
void take_way(Way& way, IoMode mode) {
  if (!way.tiles) way.tiles = TileSet::IO;
  if (!way.exchange && mode == IoMode::IoOverlapped) way.exchange = ExchangeStrategy::OverlapInnerLoop;
}

// An error says what asked for slices.
template <class Split>
ir::BatchSplit split_as_asked(const Strategy& strategy, const Split& split) {
  const int slices = strategy.batch_serialization.factor;
  try {
    return split(slices);
  } catch (const Error& error) {
    throw CannotSplit(error.at(fmt::format("batchSerializationSettings.factor {}", slices)));
  }
}

}  // namespace

ir::BatchSplit split_to_train(const ir::Graph& graph, const std::vector<ir::Variable>& weights,
                              const Strategy& strategy) {
  return split_as_asked(strategy, [&](int slices) { return ir::split_to_train(graph, slices, weights); });
}

void slice_batch(PlacedGraph& placed, const Strategy& strategy) {
  ir::Training& training = placed.training;
  if (strategy.batch_serialization.factor <= 1 || !training.updates.empty()) return;
  ir::BatchSplit split = split_as_asked(
      strategy, [&](int slices) { return ir::split_batch(training.graph, slices, training.variables); });
  training.graph = std::move(split.graph);
  training.slices = strategy.batch_serialization.factor;
  training.input_axes = std::move(split.input_axes);
  training.output_axes.assign(split.output_axes.begin(), split.output_axes.end());
}

void move_as_asked(PlacedGraph& placed, Strategy& strategy) {
  const IoMode mode = strategy.batch_serialization.io_mode;
  if (strategy.batch_serialization.factor <= 1 || mode == IoMode::Compute) return;
  const ir::Graph& graph = placed.graph();
  for (ir::ValueId id : graph.inputs) take_way(placed.placement.inputs[graph[id].name], mode);
  for (ir::ValueId id : graph.outputs) take_way(strategy.anchors[graph[id].name], mode);
}

void slice_host_tensors(executor::Program& program, const ir::Training& training, const Strategy& strategy) {
  if (training.slices == 1) return;
  const auto slice = [&](executor::HostTensor& tensor, int axis) {
    tensor.slices = training.slices;
    tensor.slice_axis = axis;
  };
  std::map<std::string_view, int> axes;  // by the names under which the host knows tensors
  const auto note = [&](const std::vector<ir::ValueId>& ids, const std::vector<std::optional<int>>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) axes.emplace(training.graph[ids[i]].name, *found[i]);
    }
  };
  note(training.graph.inputs, training.input_axes);
  note(training.graph.outputs, training.output_axes);
  const auto axis_of = [&](const executor::HostTensor& tensor) {
    const auto found = axes.find(tensor.name);
    return found == axes.end() ? executor::kAddedUp : found->second;
  };
  for (executor::HostTensor& input : program.inputs) {
    if (axis_of(input) != executor::kAddedUp) slice(input, axis_of(input));
  }
  for (executor::HostTensor& output : program.outputs) {
    const auto anchor = strategy.anchors.find(output.name);
    const bool is_sum = anchor != strategy.anchors.end() && anchor->second.returns == AnchorReturn::Sum;
    // The sum over micro-batches is that over their slices, made on the device.
    if (axis_of(output) != executor::kAddedUp || !is_sum) slice(output, axis_of(output));
  }
}

}  // namespace podium::lower
