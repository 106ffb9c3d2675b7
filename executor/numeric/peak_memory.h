// How much memory each processor has needed.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/numeric/schedule.h"

namespace podium::numeric {

/// Bytes on the device in program order, whatever the order of execution: what is always live; each other
/// slot with the size of its value from its first write to the step that frees it; what a block needs inside
/// while it runs. Streaming memory is not counted.
class PeakMemory {
 public:
  /// `program` outlives it.
  explicit PeakMemory(const executor::Program& program);

  /// Before a run.
  void start();
  /// The steps of a straight list, which have been run in an iteration of the innermost Repeat.
  void account(const std::vector<Node>& nodes, int iteration, Replicas replicas);
  /// What a Repeat frees when it is done.
  void account(const std::vector<executor::Slot>& frees, int iteration, Replicas replicas);
  /// Of the replica that needs most.
  std::int64_t bytes(int processor) const;

 private:
  struct Replica {
    std::vector<std::int64_t> now;                 // per processor
    std::vector<std::int64_t> most;                // per processor
    std::vector<std::vector<std::int64_t>> taken;  // per buffer and slot
  };
  void account(const Node& node, int iteration, int replica);
  bool is_counted(const executor::Slot& slot) const;
  void take(Replica& replica, const executor::Slot& slot, int iteration, std::int64_t bytes);

  const executor::Program* program_;
  std::vector<Replica> replicas_;
};

}  // namespace podium::numeric
