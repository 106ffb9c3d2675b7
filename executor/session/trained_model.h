// A model on its way to a graph that trains: its weights, its optimizer state, the places of its forward ops.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/options.h"
#include "executor/session/place_model.h"
#include "executor/session/read_options.h"
#include "importer/import.h"
#include "ir/optimizer.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium {

/// The initializers that are trained where nobody has named them: see TrainingOptions::weights.
std::vector<std::string> weight_names(const importer::Model& model);

/// Float constants that no op reads, by name: optimizer state among them.
std::map<std::string, ir::Tensor> unread_constants(const ir::Graph& graph);

/// Adds a note when optimizer state of `saved` has no place in the graph that trains: it was saved by another
/// optimizer, or another form of it.
void note_unused_state(const std::map<std::string, ir::Tensor>& saved, const ir::Training& training,
                       const ir::Optimizer& optimizer, Notes& notes);

/// As optimize of a model: what the variables are follows the values.
void optimize(ir::Training& forward);

/// The graph with its weights, which are inputs, as constants again: placing by cost counts them.
ir::Graph with_constants(ir::Graph graph, const std::vector<ir::Variable>& weights);

/// What `training`, made of a graph of so many ops, needs of a processor's memory for each of these and for
/// each weight, whose variables live where the options say.
TrainingMemory memory_of_training(const ir::Training& training, std::size_t forward_ops,
                                  const Options& options, const device::Device& device);

/// Places the forward ops, whose `weights` are inputs already, and writes it to them as annotations, so that
/// derivatives inherit them. Errors as place_model gives them.
void place_forward(importer::Model& model, const std::vector<ir::Variable>& weights, const Options& options,
                   const device::Device& device, const TrainingMemory& training);

/// Places the whole of a graph that trains: 2 * phases - 1 phases, stages as the ops say.
ir::Placement place_training(const importer::ModelInfo& info, const ir::Graph& graph, const Options& options);

}  // namespace podium
