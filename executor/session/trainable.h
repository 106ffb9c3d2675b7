// A model on its way to a graph that trains.
#pragma once

#include <map>
#include <string>

#include "annotate/metadata.h"
#include "annotate/partition.h"
#include "executor/session/compile.h"
#include "executor/session/training_session.h"
#include "ir/passes/make_training.h"

namespace podium {

/// The forward graph after the passes, and what is asked of its training.
struct Trainable {
  ir::Training forward = {};  ///< its variables are the weights
  annotate::Metadata metadata = {};
  ir::TrainingRequest request = {};
  annotate::ShardingPlan sharding = {};
  std::map<std::string, ir::Tensor> unread = {};  ///< constants of the model that may be states to go on with
  std::vector<std::string> numbers =
      {};  ///< initializers that nobody named and that are taken for no weights
  /// The strategy without locations of the model's own tensors: others must be of what training adds.
  Strategy added = {};
};

/// Error for a loss or a weight that the model does not have.
Trainable make_trainable(importer::Model model, const TrainingOptions& options,
                         const ir::Contributions& contributions, const Strategy& strategy);

/// Appends derivatives, for a slice of a micro-batch where the strategy says so, places the forward ops,
/// appends updates, and places the whole. Errors as place_graph, split_to_train and make_training give them,
/// and for a location or an anchor of a tensor that does not exist.
Placed make_trained(Trainable trainable, CheckedOptions& checked);

}  // namespace podium
