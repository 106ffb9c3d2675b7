// A micro-batch's steps in cycles, and the whole run that follows from them: every micro-batch takes the same
// steps, one cycle after the micro-batch before it. Pipelines and overlapped host IO are both built so.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/program.h"

namespace podium::lower {

/// Where a run has several batches, the one at whose other side a batch's first or last micro-batch takes a
/// step: a load beside the end of the batch before, a store beside the beginning of the batch behind.
enum class AcrossBatches : std::uint8_t { Stays, FirstComesBefore, LastLeavesAfter };

/// Micro-batch m takes the step in cycle `offset` + m. Where batches are crossed it is cycle `offset` + G of
/// the batch before for the first of G micro-batches, and cycle `offset` - 1 of the batch behind for the last
/// one.
struct TimedStep {
  int offset = 0;
  executor::Step step;
  AcrossBatches across = AcrossBatches::Stays;
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

/// A run: so many batches, each of so many micro-batches and, behind them, of an update.
struct Batches {
  int count = 1;
  int micro_batches = 1;
  std::vector<executor::Step> update = {};
  /// Fills of more cycles are not written out.
  int longest_fill = 64;
};

/// With offsets 0 to S-1 and G micro-batches a batch has S-1 cycles that fill, a Repeat of G-S+1 in which
/// every step takes part, S-1 cycles that flush (semantics, section 4.2). With fewer micro-batches than
/// offsets there is no Repeat. A fill of more than `longest_fill` cycles is no list, which would grow with
/// the square of S: with several micro-batches all G+S-1 cycles are one Repeat then, in which a step acts in
/// its G iterations. A buffer that the cycle writes gets a slot for each micro-batch it has to hold at once,
/// from the write to the last read (a stash: semantics, section 4.3); micro-batch m has slot m modulo the
/// slots. Equal batches are a Repeat; where steps cross batches, the first and the last batch are written
/// out.
std::vector<executor::Step> unroll(executor::Program& program, Cycle cycle, const Batches& batches);

}  // namespace podium::lower
