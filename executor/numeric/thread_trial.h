// One thread or all of them, by what either has taken.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace podium::numeric {

/// Whether the ops of a block that are neither small nor large are faster by one thread each or by all that
/// the run has. Threads that have waited for some twenty microseconds are asleep (patient_threads.h), and
/// waking them takes longer than many an op; where such ops follow each other they stay awake. So it depends
/// on all of a block and on who else works on the machine, and is tried: a few runs in a row each way, then
/// many of the faster one, then a few of the other again. Results are the same bits either way.
class ThreadTrial {
 public:
  enum class Way : std::uint8_t { All, Alone };
  using Seconds = std::chrono::duration<double>;

  /// For the run that comes.
  Way next() const { return way_; }

  /// What the run took that went this way. The first one after another way does not count: it finds threads
  /// as that has left them.
  void note(Seconds taken) {
    Seconds& least = way_ == Way::All ? all_ : alone_;
    if (run_ == 1) least = taken;
    if (run_ > 1) least = std::min(least, taken);
    if (++run_ < (is_tried_ ? kFew : kMany)) return;
    run_ = 0;
    const Way other = way_ == Way::All ? Way::Alone : Way::All;
    const bool is_first = alone_ == Seconds::zero();
    is_tried_ = is_first || !is_tried_;
    if (is_tried_) {
      way_ = other;
    } else {
      way_ = alone_ < all_ ? Way::Alone : Way::All;
    }
  }

 private:
  static constexpr std::uint32_t kFew = 4;
  static constexpr std::uint32_t kMany = 200;

  Way way_ = Way::All;
  bool is_tried_ = true;   // for a few runs, else taken for many
  std::uint32_t run_ = 0;  // of these
  Seconds all_{};          // the least of its last stretch
  Seconds alone_{};
};

}  // namespace podium::numeric
