// Where tensors live between the steps that use them: on the chip or in streaming memory, whole or sharded
// over the replicas (semantics, section 7).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/strategy.h"
#include "ir/graph.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::lower {

/// What was asked for and cannot be, a line each.
using Warnings = std::vector<std::string>;

/// What a tensor is for: each has settings of its own, a constant and what comes from the host have none.
enum class TensorClass : std::uint8_t { Activation, Weight, OptimizerState, Accumulator, Constant };

struct LocatedTensor {
  std::string name;
  TensorClass kind = TensorClass::Activation;
  std::int64_t elements = 0;
  /// The location its op asks for, `__output_tensor_location`.
  std::optional<ir::TensorLocation> annotated = {};
  bool recomputed = false;   ///< by its op: then what the op asks for is not heeded
  bool per_replica = false;  ///< a variable of which every replica has its own: never sharded
};

/// Semantics, section 7.2; a tensor of exactly the least number of elements is off chip, or sharded. Without
/// IO tiles, every tile set is Compute. What was asked for and cannot be adds a line to `warnings`.
ir::TensorLocation determine_location(const LocatedTensor& tensor, const Strategy& strategy,
                                      Warnings& warnings);

/// On the chip, but on the IO tiles while nothing uses it.
bool waits_on_io_tiles(const ir::TensorLocation& location);

/// Lives in streaming memory, on the IO tiles or in shards, so that a step has to bring it before a block
/// reads it.
bool is_remote(const ir::TensorLocation& location);

/// Per value of the graph: the location of a weight that steps have to bring, nothing for every other value.
/// A weight is a constant of numbers that an op computes with; shapes, indices and conditions are none, nor
/// is what decides the shape of a result.
ir::IdMap<ir::ValueId, std::optional<ir::TensorLocation>> remote_weights(const ir::Graph& graph,
                                                                         const ir::Placement& placement,
                                                                         const Strategy& strategy,
                                                                         Warnings& warnings);

/// The location of a variable that the replicas of `group` share, all of them without one.
ir::TensorLocation variable_location(const LocatedTensor& variable,
                                     const std::optional<ir::ReplicaGroup>& group, const Strategy& strategy,
                                     Warnings& warnings);

/// By name, the location of what ops make and what is to wait elsewhere while no block uses it. Phases store
/// themselves what is off chip.
std::map<std::string, ir::TensorLocation> stowed_activations(const ir::Graph& graph,
                                                             const ir::Placement& placement,
                                                             const Strategy& strategy, Warnings& warnings);

/// By name, the location of every variable. What is updated in each micro-batch is an accumulator, whatever
/// else it is.
std::map<std::string, ir::TensorLocation> variable_locations(const ir::Training& training,
                                                             const ir::Placement& placement,
                                                             const Strategy& strategy, Warnings& warnings);

}  // namespace podium::lower
