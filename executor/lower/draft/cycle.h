// A micro-batch's steps in cycles, and the whole run that follows from them: every micro-batch takes the same
// steps, one cycle after the micro-batch before it. Pipelines and overlapped host IO are both built so.
#pragma once

#include <vector>

#include "executor/program.h"

namespace podium::lower {

/// Micro-batch m takes the step in cycle `offset` + m.
struct TimedStep {
  int offset = 0;
  executor::Step step;
};

struct TimedTransfer {
  int offset = 0;
  executor::Transfer transfer;
};

/// Steps in their order, each for the micro-batch whose turn it is.
struct Beat {
  std::vector<TimedStep> steps;
  /// Copies between processors that end the beat as one step, latest hop first: none reads what another
  /// writes.
  std::vector<TimedTransfer> exchange = {};
};

/// The beats of a cycle, one after the other. Most cycles have one.
using Cycle = std::vector<Beat>;

/// With offsets 0 to S-1 and G micro-batches: S-1 cycles that fill, a Repeat of G-S+1 in which every step
/// takes part, S-1 cycles that flush (semantics, section 4.2). With fewer micro-batches than offsets there is
/// no Repeat. A buffer that the cycle writes gets a slot for each micro-batch it has to hold at once, from
/// the write to the last read (a stash: semantics, section 4.3); micro-batch m has slot m modulo the slots.
std::vector<executor::Step> unroll(executor::Program& program, Cycle cycle, int micro_batches);

}  // namespace podium::lower
