#include "executor/session/fill_in.h"

#include <algorithm>

#include "annotate/spots.h"
#include "executor/session/tensor_parallel.h"

namespace podium {
namespace {

constexpr int kMicroBatchesAStage = 4;

// Those that annotations name, 0 where there are none.
int annotated_processors(const annotate::AllAnnotations& annotations) {
  int count = 0;
  for (const annotate::Annotations& op : annotations) count = std::max(count, op.processor.value_or(-1) + 1);
  return count;
}

int annotated_stages(const annotate::AllAnnotations& annotations) {
  int count = 0;
  for (const annotate::Annotations& op : annotations) count = std::max(count, op.stage.value_or(-1) + 1);
  return count;
}

void choose_mode(Strategy& strategy, int annotated, int devices, Notes& notes) {
  const bool asks_for_several = strategy.pipelining || strategy.ipus / devices > strategy.replicas;
  if (!asks_for_several || strategy.virtual_graph_mode != VirtualGraphMode::Off) return;
  strategy.virtual_graph_mode = annotated > 1 ? VirtualGraphMode::Manual : VirtualGraphMode::Auto;
  notes.push_back(
      annotated > 1
          ? "ops are placed as their annotations say (--virtual-graph-mode auto places them by cost)"
          : "ops are placed by cost (--virtual-graph-mode auto)");
}

void choose_micro_batches(Strategy& strategy, int annotated, int all_processors, Task task, Notes& notes) {
  if (!strategy.pipelining) return;
  const bool is_manual = strategy.virtual_graph_mode == VirtualGraphMode::Manual;
  const int processors = all_processors / strategy.replicas;
  const int stages = is_manual ? annotated : processors;
  if (stages < 2) return;
  const bool trains = task == Task::Training;
  (trains ? strategy.accumulation_factor : strategy.batches_per_step) = kMicroBatchesAStage * stages;
  notes.push_back(fmt::format("the pipeline takes {} micro-batches {}, {} a stage ({} {})",
                              kMicroBatchesAStage * stages, trains ? "an update" : "a step",
                              kMicroBatchesAStage, trains ? "--accumulate" : "--batches-per-step",
                              kMicroBatchesAStage * stages));
}

}  // namespace

Strategy filled_in(const SessionOptions& options, const importer::Model& model, const device::Device& device,
                   Task task, Notes& notes) {
  Strategy strategy = options.strategy;
  if (!options.open.mode && !options.open.micro_batches) return strategy;
  const annotate::AllAnnotations annotations = annotate::read_all(model.graph);
  const DeviceGroups groups = device_groups(model, strategy);
  const int processors = std::max(annotated_processors(annotations), groups.stages);
  if (options.open.mode) choose_mode(strategy, processors, groups.devices, notes);
  if (options.open.micro_batches) {
    const int all = (strategy.ipus > 0 ? strategy.ipus : device.processors) / groups.devices;
    choose_micro_batches(strategy, std::max(processors, annotated_stages(annotations)), all, task, notes);
  }
  return strategy;
}

}  // namespace podium
