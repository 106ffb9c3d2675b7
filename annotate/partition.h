// Tensor parallelism: a graph whose tensors are cut over devices becomes one in which each device has ops of
// its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotate/op_cut.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::annotate {

/// The attribute of an op that ShardingPlan::ops has an entry of: its place there.
inline constexpr ir::AttributeName kShardingPlace = "__sharding";

/// What a node says of one of its operands.
struct OperandSharding {
  Side side = Side::Input;
  std::size_t place = 0;
  ir::ShardingSpec spec = {};
};

/// How a value that all devices of a group have goes to the devices of another group.
enum class Sends : std::uint8_t {
  Whole,   ///< to each from its like
  InParts  ///< a part to each from its like; then they gather them
};

/// A device configuration as the ops of a graph refer to it.
struct ShardingPlan {
  int devices = 1;                                     ///< of a group
  std::vector<std::vector<OperandSharding>> ops = {};  ///< one entry a node that says something
  /// The processors of each group's devices, where the configuration says so.
  std::vector<std::vector<int>> groups = {};
  /// Of the whole graph, whose processors are groups of devices. Without ops all are on one group.
  ir::Placement placement = {};
  Sends sends = Sends::Whole;
  std::string note = {};  ///< what was recognised, or what of that which the model says has no effect
  /// That the cut graph may have: a small file may ask for many devices. As many take some 2 GiB.
  std::int64_t most_ops = std::int64_t{1} << 21;

  /// The processor that is a device of a group: groups follow each other.
  int processor(int group, int device) const {
    return groups.empty() ? group * devices + device : groups[group][device];
  }
};

enum class ReshardKind : std::uint8_t { AllReduce, ReduceScatter, Reduce, AllGather, AllToAll, Transfers };

/// A tensor that a node needs on other devices than those that have it, or that it needs summed up.
struct Resharding {
  ReshardKind kind = ReshardKind::Transfers;
  std::string node = {};  ///< the one that needs it; empty: an output of the graph
  std::string tensor = {};
  std::int64_t bytes = 0;  ///< that devices receive, all together
};

/// A variable in several parts.
struct CutVariable {
  struct Part {
    std::string name;
    Box box;
  };
  std::string name;
  ir::Type type;
  std::vector<Part> parts;
};

/// How the devices' results of an op are those of one device.
enum class Cut : std::uint8_t {
  Whole,   ///< a device that computes it computes all of it
  Apart,   ///< each computes elements of its own, from all that they are made of
  Summed,  ///< what one device sums up is summed up in parts, which are added
  Passed,  ///< it adds to the summands of a sum, or moves them, before they are added up
  InSteps  ///< steps that reduce parts do it instead of the op (op_steps.h)
};

struct Partitioned {
  ir::Training training;
  std::vector<CutVariable> variables;
  std::vector<Resharding> reshardings;  ///< in the order of the graph
  std::vector<Cut> ops = {};            ///< of the whole graph, in its order
};

/// Each op becomes one an own device of its group that computes a part of it, with its device as annotation
/// of the processor, in the stage and phase of the whole op where the plan places it; between them come ops
/// in which devices meet (ir/ops/group_exchange.h) and, for what no such op serves, ops that cut, sum up in
/// ascending order of devices, and join what other devices have: cut where the value is, added up and joined
/// where it is read. Layouts follow from what nodes say, from the layouts of variables, which are those that
/// the first reader wants, and of the largest operand, or of another one where that leaves no sum and moves
/// less; what does not fit them is brought into form. An op that cannot be cut, such as one with bodies, runs
/// whole on all devices; a random one on the first, and one with bodies where a size is unknown. Each device
/// cuts what it needs out of the inputs, and the first device of the group that makes an output puts it
/// together; lowering then lets these parts come from the host and go there by themselves. A state lies as
/// its weight does; one of a weight that all devices have, like its update, is on the first. Error for more
/// ops than the plan allows, for types that are not static, for a spec that does not fit its tensor, and for
/// parts of a tensor that no device has.
Partitioned partition(const ir::Training& whole, const ShardingPlan& plan);

/// "all-reduce"
std::string_view name_of(ReshardKind kind);
/// "MatMul 'proj' needs 'x': all-reduce, 4096 bytes"
std::string to_string(const Resharding& resharding);

}  // namespace podium::annotate
