// Tensors that are cut over devices as one of a model's device configurations says, or as blocks of
// transformers are cut. A processor of the model's placement is a group of these devices then.
#pragma once

#include <vector>

#include "annotate/partition.h"
#include "executor/session/compile.h"
#include "importer/import.h"

namespace podium {

/// What a device configuration says of groups.
struct DeviceGroups {
  int devices = 1;  ///< of a group
  int stages = 0;   ///< that nodes name; 0 where the strategy asks for none
  /// The devices of each stage, ascending, where each stage's nodes name devices of their own.
  std::vector<std::vector<int>> own = {};

  /// The devices of all stages that have devices of their own, else of a group.
  int named() const { return own.empty() ? devices : devices * static_cast<int>(own.size()); }
};

/// One device without a configuration. Error for a name that the model does not declare, and for stages with
/// unlike numbers of devices.
DeviceGroups device_groups(const importer::Model& model, const Strategy& strategy);

/// What the strategy's configuration says of the model's nodes, which get the attribute that refers to it
/// and, where stages are asked for, those of their stage; with tensor parallelism, what is found in its
/// blocks. Errors as device_groups and plan_tensor_parallel give them.
annotate::ShardingPlan plan_sharding(importer::Model& model, const Strategy& strategy);
/// No tensor is cut.
inline bool is_whole(const annotate::ShardingPlan& plan) { return plan.devices == 1; }

/// What ops are placed on.
struct Machine {
  Strategy strategy;
  device::Device device;
};
/// The machine with a processor for each group of devices. Error where they cannot be dealt out in groups.
Machine of_groups(Machine machine, const annotate::ShardingPlan& plan);
/// The machine on which each op is where the cut graph says.
Machine of_devices(Machine machine);

/// Cuts an optimized graph over the groups of a plan that has its placement, and optimizes it once more. What
/// is left is all but the training. Error for more devices than the machine has.
annotate::Partitioned cut_over_devices(ir::Training& training, annotate::ShardingPlan plan,
                                       CheckedOptions& checked);

/// Leaves out what the program does not move: the parts of an output that leave from their devices.
void keep_moved(std::vector<annotate::Resharding>& reshardings, const executor::Program& program);
/// A note for each kind of what moves between devices.
void note_reshardings(const std::vector<annotate::Resharding>& all, Notes& notes);

}  // namespace podium
