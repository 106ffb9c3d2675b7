// What compute lanes wait for: who was busy in the meantime.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/sim/start_log.h"
#include "executor/sim/ticks.h"

namespace podium::sim {

/// Each wait in the order of the walk, cut into pieces: of what made its end so late, of what that waited for
/// itself, and so on back to its beginning.
class Waits {
 public:
  /// Notes that a processor waits from `from` on, until walked task `until.by` of `log` lets it go on.
  void note(int processor, Ticks from, Moment until, const StartLog& log);
  /// So many pieces have been noted.
  std::size_t size() const { return pieces_.size(); }
  /// The pieces from number `first` on come `times` times more.
  void repeat(std::size_t first, std::int64_t times);

  /// The ticks of each of so many processors, by the task (Task::number) that kept it waiting, kNobody the
  /// host's call. Together they are all that its compute lane was idle.
  std::vector<std::map<std::int32_t, Ticks>> by_task(int processors) const;

 private:
  struct Piece {
    std::int32_t processor = 0;
    std::int32_t task = kNobody;
    Ticks ticks = 0;
  };
  std::vector<Piece> pieces_;
};

}  // namespace podium::sim
