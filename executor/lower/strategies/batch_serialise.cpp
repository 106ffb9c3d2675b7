#include "executor/lower/strategies/batch_serialise.h"

#include <map>

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
ir::BatchSplit split_as_asked(const Options& options, const Split& split) {
  const int slices = options.batch_serialization.factor;
  try {
    return split(slices);
  } catch (const Error& error) {
    throw error.at(fmt::format("batchSerializationSettings.factor {}", slices));
  }
}

}  // namespace

bool is_serialised(const Options& options) { return options.batch_serialization.factor > 1; }

Serialised serialise_batch(const ir::Graph& graph, const ir::Placement& placement, const Options& options) {
  ir::BatchSplit slice = split_as_asked(options, [&](int slices) { return ir::split_batch(graph, slices); });
  Serialised serialised{.graph = std::move(slice.graph),
                        .placement = placement,
                        .options = options,
                        .input_axes = std::move(slice.input_axes),
                        .output_axes = std::move(slice.output_axes)};
  move_as_asked(graph, serialised.placement, serialised.options);
  return serialised;
}

ir::BatchSplit split_to_train(const ir::Graph& graph, const std::vector<ir::Variable>& weights,
                              const Options& options) {
  return split_as_asked(options, [&](int slices) { return ir::split_to_train(graph, slices, weights); });
}

void move_as_asked(const ir::Graph& graph, ir::Placement& placement, Options& options) {
  const IoMode mode = options.batch_serialization.io_mode;
  if (!is_serialised(options) || mode == IoMode::Compute) return;
  for (ir::ValueId id : graph.inputs) take_way(placement.inputs[graph[id].name], mode);
  for (ir::ValueId id : graph.outputs) take_way(options.anchors[graph[id].name], mode);
}

void slice_host_tensors(executor::Program& program, const Serialised& serialised) {
  const auto slice = [&](std::vector<executor::HostTensor>& tensors, const std::vector<int>& axes) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].slices = serialised.options.batch_serialization.factor;
      tensors[i].slice_axis = axes[i];
    }
  };
  slice(program.inputs, serialised.input_axes);
  slice(program.outputs, serialised.output_axes);
}

void slice_host_tensors(executor::Program& program, const ir::Training& training, const Options& options) {
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
    const auto anchor = options.anchors.find(output.name);
    const bool is_sum = anchor != options.anchors.end() && anchor->second.returns == AnchorReturn::Sum;
    // The sum over micro-batches is that over their slices, made on the device.
    if (axis_of(output) != executor::kAddedUp || !is_sum) slice(output, axis_of(output));
  }
}

}  // namespace podium::lower
