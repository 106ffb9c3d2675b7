// One thread or all of them, by what either has taken.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace podium::numeric {

/// Whether the ops of a block that are neither small nor large are faster by one thread each or by all that
/// the run has. Threads that have waited for some twenty microseconds are asleep (patient_threads.h), and
/// waking them takes longer than many an op; where such ops follow each other they stay awake. So it depends
/// on all of a block and on who else works on the machine, and is tried: a few runs in a row each way, twice,
/// then many of the faster one, then a few of the other again. Results are the same bits either way.
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
    if (run_ == 1 && stretch_ >= kFirst) least = taken;
    if (run_ > 0) least = std::min(least, taken);
    if (++run_ < (is_tried() ? kFew : kMany)) return;
    run_ = 0;
    ++stretch_;
    way_ = is_tried() ? other() : faster();
  }

 private:
  static constexpr std::uint32_t kFew = 4;
  static constexpr std::uint32_t kMany = 200;
  static constexpr std::uint32_t kFirst = 4;  // stretches, each way in turn
  static constexpr double kLess = 0.95;       // what pays: the rest may be chance

  bool is_tried() const { return stretch_ < kFirst || stretch_ % 2 != 0; }
  Way other() const { return way_ == Way::All ? Way::Alone : Way::All; }
  Way faster() const { return alone_ < kLess * all_ ? Way::Alone : Way::All; }

  Way way_ = Way::All;
  std::uint32_t stretch_ = 0;
  std::uint32_t run_ = 0;         // of the stretch
  Seconds all_ = Seconds::max();  // the least: of the first stretches, then of the last one
  Seconds alone_ = Seconds::max();
};

}  // namespace podium::numeric
