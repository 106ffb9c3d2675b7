// Where and when each op runs: what annotations or an automatic placer decide, and what lowering reads.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace podium::ir {

enum class TileSet : std::uint8_t { Compute, IO };
/// The numbers are those of the attribute `__recompute_output_in_backward_pass`.
enum class Recompute : std::uint8_t { Undefined, Checkpoint, Recompute, Recomputed };
enum class Storage : std::uint8_t { OnChip, OffChip };
enum class GroupType : std::uint8_t { All, Consecutive, Orthogonal, None };
/// When the data of an input or anchor move; the numbers are those of `__exchange_strategy/<input>`.
enum class ExchangeStrategy : std::uint8_t { JustInTime, OverlapInnerLoop, OverlapLoops, OverlapStep };

/// A way to cut all replicas into groups of `size` (of All: every replica, of None: each alone).
struct ReplicaGroup {
  GroupType type = GroupType::All;
  int size = 0;
  int stride = 1;  ///< of Consecutive: from one member to the next; those between are of other groups
  friend auto operator<=>(const ReplicaGroup&, const ReplicaGroup&) = default;
};

/// Where a tensor lives between the steps that use it.
struct TensorLocation {
  Storage storage = Storage::OnChip;
  TileSet load_tiles = TileSet::Compute;
  TileSet storage_tiles = TileSet::Compute;
  bool sharded = false;  ///< over the replicas of `domain`: replicated tensor sharding
  ReplicaGroup domain = {};
  friend bool operator==(const TensorLocation&, const TensorLocation&) = default;
};

/// How often an op runs: in each micro-batch, or once all micro-batches of an update have run.
enum class Context : std::uint8_t { MicroBatch, Update };

struct OpPlacement {
  int processor = 0;  ///< virtual graph: the processor inside one replica
  int stage = 0;      ///< pipeline stage
  int phase = 0;      ///< execution phase
  TileSet tiles = TileSet::Compute;
  Recompute recompute = Recompute::Undefined;
  float priority = 0;  ///< of ops that could run next, the one with the highest runs first
  std::optional<TensorLocation> output_location = {};
  Context context = Context::MicroBatch;
};

/// How an input comes from the host.
struct InputPlacement {
  std::optional<TileSet> tiles = {};
  std::optional<ExchangeStrategy> exchange = {};
  bool broadcast = false;  ///< every replica gets the same data
};

/// One entry per op of the main graph, in its order. A control-flow op runs whole where it is placed.
struct Placement {
  std::vector<OpPlacement> ops;
  int processors = 1;  ///< of one replica
  int stages = 1;
  int phases = 1;
  std::map<std::string, InputPlacement> inputs = {};
  /// Initializers that are not one value for all replicas.
  std::map<std::string, ReplicaGroup> variable_groups = {};
};

}  // namespace podium::ir
