// How a program that Podium runs in ends what takes long. The command line ends with its process; Python has
// to be asked.
#pragma once

#include <atomic>

namespace podium::ir {

/// Looks whether the user has asked for an end, and throws then. Set once; nobody looks before.
inline std::atomic<void (*)()> interruption_check{nullptr};

/// Called in every iteration of loops whose length a file decides. Cheap: the function that is called looks
/// now and then.
inline void look_for_interruption() {
  if (void (*const check)() = interruption_check.load(std::memory_order_relaxed)) check();
}

}  // namespace podium::ir
