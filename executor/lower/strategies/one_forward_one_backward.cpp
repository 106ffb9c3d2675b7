// 1F1B, flushed: behind as many forward passes as it takes to reach the last stage, a processor takes a
// forward and a backward pass in turns, so that stage r of p stashes p - r micro-batches where lockstep
// stashes 2 (p - 1 - r) + 1. A cycle has two beats: stages of which the forward pass is at an even beat have
// their backward pass at an odd one, and the other way round. With three processors:
//
//   beat    0   1   2   3   4   5   6   7   8   9
//   ipu 0   F0      F1      F2  B0      B1      B2      (F of ipu 2 and its B are one stage: both in a beat)
//   ipu 1       F0      F1  B0  F2  B1      B2
//   ipu 2           FB0     FB1     FB2
//
// The order on each processor is 1F1B's; when passes take longer than a beat of others, they follow it
// without waiting for beats, which only exchanges do.
#include "executor/lower/strategies/schedule.h"

namespace podium::lower {
namespace {

// The last forward stage and the first backward stage are one, which takes the place of two.
Moment at(int stage, int stages) {
  const int last_forward = stages / 2;
  const int beat = stage <= last_forward ? stage : stage + 1;
  return {.cycle = beat / 2, .beat = beat % 2};
}

}  // namespace

PipelineSchedule one_forward_one_backward() { return {.beats = 2, .at = at}; }

}  // namespace podium::lower
