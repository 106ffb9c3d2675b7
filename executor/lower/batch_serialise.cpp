#include "executor/lower/batch_serialise.h"

#include "ir/passes/split_batch.h"

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

ir::BatchSplit split(const ir::Graph& graph, int slices) {
  try {
    return ir::split_batch(graph, slices);
  } catch (const Error& error) {
    throw error.at(fmt::format("batchSerializationSettings.factor {}", slices));
  }
}

}  // namespace

bool is_serialised(const Options& options) { return options.batch_serialization.factor > 1; }

Serialised serialise_batch(const ir::Graph& graph, const ir::Placement& placement, const Options& options) {
  ir::BatchSplit slice = split(graph, options.batch_serialization.factor);
  Serialised serialised{.graph = std::move(slice.graph),
                        .placement = placement,
                        .options = options,
                        .input_axes = std::move(slice.input_axes),
                        .output_axes = std::move(slice.output_axes)};
  const IoMode mode = options.batch_serialization.io_mode;
  if (mode == IoMode::Compute) return serialised;
  for (ir::ValueId id : graph.inputs) take_way(serialised.placement.inputs[graph[id].name], mode);
  for (ir::ValueId id : graph.outputs) take_way(serialised.options.anchors[graph[id].name], mode);
  return serialised;
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

}  // namespace podium::lower
