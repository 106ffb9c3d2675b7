// How long OpenMP's threads spin while they wait for work: long where the machine is theirs alone.
#pragma once

#include <chrono>
#include <optional>

namespace podium::numeric {

/// What the kernel has counted of a thread since it began.
struct ProcessorTime {
  std::chrono::nanoseconds running{};  // on a processor
  std::chrono::nanoseconds ready{};    // in which it could have run and others did
};

/// Whether others want the processors, from what one thread gets of them.
class OthersWatch {
 public:
  /// True where the thread was kept waiting for a tenth of its time since the last reading that told
  /// something, and where the kernel does not count; nothing for the first reading (the program may have had
  /// more threads than processors before) and for less than 5 ms of its time.
  std::optional<bool> judge(const ProcessorTime& now);

 private:
  std::optional<ProcessorTime> last_ = std::nullopt;
};

/// Call it now and then between ops that all threads share. OpenMP's threads spin for milliseconds by
/// default, so that they are awake for the next op. Where other programs want the processors, whoever spins
/// keeps them from those that compute, and two such programs stop each other for a hundred times as long as
/// they compute. The function looks every 20 ms whether others are at work, and if so the threads of this
/// program hardly spin for the next 100 ms. Not where the user has chosen how threads wait (OMP_WAIT_POLICY
/// or GOMP_SPINCOUNT). Costs a reading of the clock when it is not time to look. Results do not depend on it.
void watch_for_others();

}  // namespace podium::numeric
