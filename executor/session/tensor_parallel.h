// Tensors that are cut over devices as one of a model's device configurations says.
#pragma once

#include "annotate/partition.h"
#include "executor/session/read_options.h"
#include "importer/import.h"

namespace podium {

/// What the configuration of that name says of the model's nodes, which get the attribute that refers to it;
/// one device where the name is empty. Error for a name that the model does not declare.
annotate::ShardingPlan plan_sharding(importer::Model& model, const std::string& configuration);

/// Cuts an optimized graph over the devices of a plan of several, and optimizes it once more. What is left is
/// all but the training. A note says what moves between devices.
annotate::Partitioned cut_over_devices(ir::Training& training, const annotate::ShardingPlan& plan,
                                       Notes& notes);

}  // namespace podium
