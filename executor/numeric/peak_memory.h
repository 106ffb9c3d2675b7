// The peak memory of each processor in a run.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/numeric/schedule.h"

namespace podium::numeric {

/// Counts bytes on the device in program order, whatever the order of execution: always-live buffers; each
/// other slot with the size of its value, from its first write to the step that frees it; and the temporary
/// bytes of a block while it runs. Streaming memory is not counted.
class PeakMemory {
 public:
  /// `program` outlives the object.
  explicit PeakMemory(const executor::Program& program);

  /// Called before a run.
  void start();
  /// Counts the steps of a straight list, which have run in an iteration of the innermost Repeat.
  void account(const std::vector<Node>& nodes, int iteration, Replicas replicas);
  /// Counts the slots that a Repeat frees once it has ended.
  void account(const std::vector<executor::Slot>& frees, int iteration, Replicas replicas);
  /// The peak of each processor, in the replica that needs most.
  std::int64_t bytes(int processor) const;

 private:
  struct Replica {
    std::vector<std::int64_t> now;                                   // per processor
    std::vector<std::int64_t> most;                                  // per processor
    ir::IdMap<executor::BufferId, std::vector<std::int64_t>> taken;  // per slot
  };
  void account(const Node& node, int iteration, int replica);
  bool is_counted(const executor::Slot& slot) const;
  void take(Replica& replica, const executor::Slot& slot, int iteration, std::int64_t bytes);

  const executor::Program* program_;
  std::vector<Replica> replicas_;
};

}  // namespace podium::numeric
