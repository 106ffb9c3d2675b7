// Which of the slots that a step frees are there, found without going through those that are not. The
// exchange of a long pipeline frees what all its transfers read, and in an iteration few of them move.
#pragma once

#include <unordered_map>
#include <vector>

#include "executor/program.h"

namespace podium::sim {

/// For who keeps account of slots that come and go.
class PendingFrees {
 public:
  explicit PendingFrees(const executor::Program& program);

  /// A slot of a buffer is there now.
  void fill(executor::BufferId buffer);

  /// Calls free(slot), in the order in which the step lists them, for those of buffers that have been filled
  /// since this was last called for the step; for all of a short list.
  template <class Free>
  void each(const executor::Step& step, const Free& free) {
    if (step.frees.size() <= kFew) {
      for (const executor::Slot& slot : step.frees) free(slot);
      return;
    }
    for (int place : take(steps_.at(&step))) free(step.frees[static_cast<std::size_t>(place)]);
  }

 private:
  static constexpr std::size_t kFew = 8;  // to look at all is as fast as to keep account

  /// A place in the long list of a step.
  struct Place {
    int step = 0;
    int place = 0;
  };
  struct LongList {
    std::vector<bool> is_pending = {};  ///< by place
    std::vector<int> pending = {};
  };

  void add(const std::vector<executor::Step>& steps);
  void add(const executor::Step& step);
  const std::vector<int>& take(int step);

  const executor::Program& program_;
  std::unordered_map<const executor::Step*, int> steps_;  ///< those with long lists
  std::vector<LongList> lists_;
  ir::IdMap<executor::BufferId, std::vector<Place>> places_;  ///< none where no list is long
  std::vector<int> taken_;
};

}  // namespace podium::sim
