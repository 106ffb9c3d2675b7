// One thread or all of them, by what either has taken.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace podium::numeric {

/// Whether the ops of a block that are neither small nor large are faster by one thread each or by all that
/// the run has. Calling threads together takes longer than many an op, waking them (patient_threads.h) longer
/// still; where such ops follow each other they stay awake. So it depends on all of a block and on who else
/// works on the machine, and is tried: after some runs with all threads a few of the other way, then many of
/// the faster one, then a few of the other again. Results are the same bits either way.
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
    if (++run_ < length_) return;
    run_ = 0;
    way_ = is_tried_ ? faster() : other();
    is_tried_ = !is_tried_;
    length_ = is_tried_ ? kFew : kMany;
  }

 private:
  static constexpr std::uint32_t kFirst = 32;  // runs that whoever measures a few of them gets
  static constexpr std::uint32_t kMany = 200;
  static constexpr std::uint32_t kFew = 4;
  static constexpr double kLess = 0.95;  // what pays: the rest may be chance

  Way other() const { return way_ == Way::All ? Way::Alone : Way::All; }
  Way faster() const { return alone_ < kLess * all_ ? Way::Alone : Way::All; }

  Way way_ = Way::All;
  bool is_tried_ = false;
  std::uint32_t length_ = kFirst;  // of a stretch of runs that go one way
  std::uint32_t run_ = 0;          // of the stretch
  Seconds all_{};                  // the least of its last stretch
  Seconds alone_{};
};

}  // namespace podium::numeric
