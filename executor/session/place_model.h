// Decides where the ops of a model run: by its annotations, or by cost.
#pragma once

#include "annotate/metadata.h"
#include "executor/device/device.h"
#include "executor/schedule/schedule.h"
#include "executor/session/check_options.h"
#include "executor/session/training_memory.h"
#include "executor/strategy.h"
#include "importer/import.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium {

/// The default preset's numbers for placing by cost, but without an end to its processors.
device::Device endless_device();

/// Annotates the products, those inside recurrent cells, attention and gradients too, with what the options
/// say of their kind and their nodes do not (semantics, section 2).
void plan_products(ir::Graph& graph, const Strategy& strategy);

/// The micro-batches, or slices of them, that go through a pipeline before it is flushed.
int micro_batches_of_cycles(const Strategy& strategy);

/// The schedule of a pipeline that is placed automatically on so many processors. Error when it cannot be
/// had.
schedule::Schedule pipeline_schedule(const Strategy& strategy, int processors, int micro_batches);

/// Error when the annotations of a model, as imported, cannot be what the strategy asks for. Each processor
/// is a group of so many devices; a device configuration alone has one of them.
void check_annotations(const importer::Model& model, const Strategy& strategy, const device::Device& device,
                       int devices_of_group);

/// A line for each annotation of a model, as imported, that changes nothing in a session of this kind.
Notes unheeded_annotations(const importer::Model& model, const Strategy& strategy, Task task);

/// `graph` has been through the passes. In mode Auto its ops get the annotations of an automatic placement
/// over all the processors of `device`, or as many as the options say; its constants and ops need what
/// `training` says. Error for a graph that cannot be cut.
ir::Placement place_graph(ir::Graph& graph, const annotate::Metadata& metadata, const Strategy& strategy,
                          const device::Device& device, const TrainingMemory& training = {});

/// Places the ops of a graph that is to train and writes it as annotations to its first ops in `trained`,
/// from which derivatives inherit them. Errors as place_graph gives them.
void place_forward(const ir::Training& forward, ir::Graph& trained, const annotate::Metadata& metadata,
                   const Strategy& strategy, const device::Device& device, const TrainingMemory& training);

/// Places the whole of a graph that trains: 2 * phases - 1 phases, stages as the ops say.
ir::Placement place_training(ir::Graph graph, const annotate::Metadata& metadata, const Strategy& strategy);

}  // namespace podium
