// What limits a run, from the way back from its end (sim::Timeline::path).
#pragma once

#include <string>
#include <vector>

#include "executor/sim/timeline.h"

namespace podium::report {

/// What one processor does that the end of the run waited for, or what all do in turns.
struct Cause {
  std::string text = {};  ///< "ipu 3 storing logits to the host (3.91 MiB at 2.73 GiB/s)"
  double share = 0;       ///< of the makespan
};

/// The largest first. Where no processor alone takes half of the run, but one kind of work on several of them
/// does, that comes first.
std::vector<Cause> causes(const sim::Timeline& timeline);

/// "ipu 3 storing logits to the host, 87.1%", or the memory of the fullest processor when the run does not
/// fit. Waiting is never the answer.
std::string bottleneck(const sim::Timeline& timeline);

/// "87.1% of the step is ipu 3 storing logits to the host (3.91 MiB at 2.73 GiB/s)". Empty for a run that
/// takes no time.
std::string cause_sentence(const sim::Timeline& timeline);

/// The parts that take most of the time, a row each, and one for the rest; --explain.
std::string path_table(const sim::Timeline& timeline, std::size_t width);

/// A row a processor: how much of the run it is idle, what it mostly waits for then, and what it mostly does
/// otherwise; --explain.
std::string idle_table(const sim::Timeline& timeline, std::size_t width);

}  // namespace podium::report
